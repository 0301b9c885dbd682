import { sortedText } from '../../api/custom/sorted-text.ts'
import type { Findings } from '../../api/errors/findings.ts'
import { fieldForbidden, invalid } from '../../api/errors/field-error.ts'
import type { Json, JsonObject, JsonObjectDraft } from '../../api/json.ts'
import { integerMember, memberOf, numberMember, objectsMember, textMember } from '../../api/json.ts'
import { member } from '../../api/schema/path.ts'
import { differences } from '../common/differences.ts'

/**
 * Checks that an update of the spec of a Pod changes nothing but images, the deadline (set or
 * shortened), tolerations (added, or with another duration), and a negative grace period (to 1).
 *
 * @source core `pkg/apis/core/validation`, ValidatePodUpdate
 */
export function checkPodUpdate(spec: JsonObject, old: JsonObject, found: Findings): void {
  const before = found.count
  for (const list of ['containers', 'initContainers']) {
    const isSame = objectsMember(spec, list).length === objectsMember(old, list).length
    if (!isSame) found.add(fieldForbidden(`spec.${list}`, 'pod updates may not add or remove containers'))
  }
  if (found.count > before) return
  checkDeadline(spec, old, found)
  checkTolerations(spec, old, found)
  checkRest(spec, old, found)
}

function checkDeadline(spec: JsonObject, old: JsonObject, found: Findings): void {
  const field = 'spec.activeDeadlineSeconds'
  const [now, before] = [
    integerMember(spec, 'activeDeadlineSeconds'),
    integerMember(old, 'activeDeadlineSeconds'),
  ]
  if (before === null) return
  if (now === null) {
    found.add(invalid(field, null, 'must not update from a positive integer to nil value'))
    return
  }
  if (now > before) found.add(invalid(field, now, 'must be less than or equal to previous value'))
}

function checkTolerations(spec: JsonObject, old: JsonObject, found: Findings): void {
  const now = new Set(objectsMember(spec, 'tolerations').map(withoutTime))
  if (objectsMember(old, 'tolerations').every((toleration) => now.has(withoutTime(toleration)))) return
  found.add(
    fieldForbidden(
      'spec.tolerations',
      'existing toleration can not be modified except its tolerationSeconds',
    ),
  )
}

/** Returns the other members of a toleration as text, to compare them. */
function withoutTime(toleration: JsonObject): string {
  const draft: JsonObjectDraft = { ...toleration }
  delete draft['tolerationSeconds']
  return sortedText(draft)
}

/** After the mutable members are reset, the specs must be equal. */
function checkRest(spec: JsonObject, old: JsonObject, found: Findings): void {
  const rest: JsonObjectDraft = { ...spec }
  for (const name of ['activeDeadlineSeconds', 'tolerations']) keep(rest, old, name)
  for (const list of ['containers', 'initContainers']) {
    if (Object.hasOwn(spec, list))
      rest[list] = withImages(objectsMember(spec, list), objectsMember(old, list))
  }
  const before = numberMember(old, 'terminationGracePeriodSeconds')
  if (before !== null && before < 0 && numberMember(spec, 'terminationGracePeriodSeconds') === 1) {
    keep(rest, old, 'terminationGracePeriodSeconds')
  }
  const changed = differences(old, rest, member(null, 'spec'))
  if (changed.length !== 0) found.add(fieldForbidden('spec', `${WORDS}\n${changed.join('\n')}\n`))
}

const WORDS =
  'pod updates may not change fields other than `spec.containers[*].image`, `spec.initContainers[*].image`, ' +
  '`spec.activeDeadlineSeconds`, `spec.tolerations` (only additions to existing tolerations) or ' +
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)'

function keep(draft: JsonObjectDraft, old: JsonObject, name: string): void {
  const kept = memberOf(old, name)
  if (kept === undefined) delete draft[name]
  else draft[name] = kept
}

function withImages(containers: readonly JsonObject[], old: readonly JsonObject[]): readonly Json[] {
  return containers.map((container, index) => {
    const before = old[index]
    return before === undefined ? container : { ...container, image: textMember(before, 'image') }
  })
}

/**
 * Ephemeral containers can only be added.
 *
 * @source core `pkg/apis/core/validation`, ValidatePodEphemeralContainersUpdate
 */
export function checkEphemeralUpdate(spec: JsonObject, old: JsonObject, found: Findings): void {
  const field = 'spec.ephemeralContainers'
  const now = new Map(
    objectsMember(spec, 'ephemeralContainers').map((one) => [textMember(one, 'name'), one] as const),
  )
  for (const before of objectsMember(old, 'ephemeralContainers')) {
    const name = textMember(before, 'name')
    const container = now.get(name)
    const shown = JSON.stringify(name)
    if (container === undefined) {
      found.add(fieldForbidden(field, `existing ephemeral containers ${shown} may not be removed`))
      continue
    }
    const same = differences(before, container, member(null, 'spec')).length === 0
    if (!same) found.add(fieldForbidden(field, `existing ephemeral containers ${shown} may not be changed`))
  }
}

import type { Findings } from '../../api/errors/findings.ts'
import { duplicate, invalid, notSupported, required } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { memberOf, numberMember, objectMember, textMember, textsMember } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt } from '../../api/schema/path.ts'
import { checkPodTemplate } from '../pods/pod-template-spec.ts'

const INDEXED_PARALLELISM_MAX = 100_000

/**
 * Checks the rules that Jobs and templates of Jobs share.
 *
 * @param at path of the spec: `spec`
 * @source upstream `pkg/apis/batch/validation`, validateJobSpec
 */
export function checkJobSpec(spec: JsonObject, at: string, names: Names, found: Findings): void {
  if (textMember(spec, 'completionMode') === 'Indexed') {
    const words = 'when completion mode is Indexed'
    if (memberOf(spec, 'completions') === undefined) found.add(required(`${at}.completions`, words))
    const parallelism = numberMember(spec, 'parallelism') ?? 0
    if (parallelism > INDEXED_PARALLELISM_MAX) {
      const most = `must be less than or equal to ${INDEXED_PARALLELISM_MAX} ${words}`
      found.add(invalid(`${at}.parallelism`, parallelism, most))
    }
  }
  const template = objectMember(spec, 'template')
  checkPodTemplate(template, `${at}.template`, names, found)
  const policy = textMember(objectMember(template, 'spec'), 'restartPolicy')
  const field = `${at}.template.spec.restartPolicy`
  if (policy === 'Always') found.add(required(field, 'valid values: "OnFailure", "Never"'))
  else if (policy !== 'OnFailure' && policy !== 'Never')
    found.add(notSupported(field, policy, ['OnFailure', 'Never']))
}

/** @source upstream `pkg/apis/batch/validation`, ValidateJobStatus */
export function checkUncounted(pods: JsonObject, at: Path | null, found: Findings): void {
  const seen = new Set<string>()
  for (const name of ['succeeded', 'failed']) {
    for (const [index, uid] of textsMember(pods, name).entries()) {
      const field = fieldAt(at, name, index)
      if (uid === '') found.add(invalid(field, uid, 'must not be empty'))
      else if (seen.has(uid)) found.add(duplicate(field, uid))
      seen.add(uid)
      if (found.isFull) return
    }
  }
}

import type { Findings } from '../../api/errors/findings.ts'
import { invalid, required } from '../../api/errors/field-error.ts'
import { goMap, goSelector } from '../../api/errors/go-values.ts'
import type { JsonObject } from '../../api/json.ts'
import { memberOf, objectMember, textMember } from '../../api/json.ts'
import { selectorOfObject } from '../../api/selectors/label-selector.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'
import { specOf, templateOf } from '../workloads/pod-owner.ts'

const UID_LABEL = 'controller-uid'
const NAME_LABEL = 'job-name'

/** Returns whether the selector of a Job is that of the client. */
export function hasOwnSelector(object: AnyObject): boolean {
  return memberOf(specOf(object), 'manualSelector') === true
}

/**
 * Returns a new Job with a selector by its uid, and with its labels on the Pods. Labels and
 * selectors of the client stay, and are refused if they differ.
 *
 * @source upstream `pkg/registry/batch/job`, generateSelector
 */
export function withSelector(object: AnyObject): AnyObject {
  if (hasOwnSelector(object)) return object
  const { uid = '', name = '' } = object.metadata
  const [spec, template] = [specOf(object), templateOf(object)]
  const metadata = objectMember(template, 'metadata')
  const labels = { [NAME_LABEL]: name, [UID_LABEL]: uid, ...objectMember(metadata, 'labels') }
  const selector = objectMember(spec, 'selector')
  const matchLabels = { [UID_LABEL]: uid, ...objectMember(selector, 'matchLabels') }
  return {
    ...object,
    spec: {
      ...spec,
      selector: { ...selector, matchLabels },
      template: { ...template, metadata: { ...metadata, labels } },
    },
  }
}

/**
 * Checks that the selector selects the Pods, and only those of this Job unless the client chose it.
 *
 * @source upstream `pkg/apis/batch/validation`, ValidateGeneratedSelector
 */
export function checkJobSelector(object: AnyObject, found: Findings): void {
  const selector = memberOf(specOf(object), 'selector')
  if (selector === undefined) {
    found.add(required('spec.selector'))
    return
  }
  const of = selectorOfObject(objectMember(specOf(object), 'selector'))
  const labels = textsOf(objectMember(objectMember(templateOf(object), 'metadata'), 'labels'))
  if (!of.matches(labels)) {
    const words = '`selector` does not match template `labels`'
    found.add(invalid('spec.template.metadata.labels', labels, words, goMap))
  }
  if (hasOwnSelector(object)) return
  const { uid = '', name = '' } = object.metadata
  const expected = { [UID_LABEL]: uid, [NAME_LABEL]: name }
  for (const [key, value] of Object.entries(expected)) {
    const at = `spec.template.metadata.labels[${key}]`
    const given = labels[key]
    if (given === undefined) found.add(required(at, `must be '${value}'`))
    else if (given !== value) found.add(invalid(at, labels, `must be '${value}'`, goMap))
  }
  if (!of.matches(expected))
    found.add(invalid('spec.selector', selector, '`selector` not auto-generated', goSelector))
}

function textsOf(labels: JsonObject): { readonly [key: string]: string } {
  return Object.fromEntries(Object.keys(labels).map((key) => [key, textMember(labels, key)]))
}

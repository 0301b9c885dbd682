import type { Findings } from '../../api/errors/findings.ts'
import { invalid } from '../../api/errors/field-error.ts'
import type { JsonObject, JsonObjectDraft } from '../../api/json.ts'
import { memberOf, objectMember } from '../../api/json.ts'
import { equalUnder } from '../../api/schema/equal.ts'
import { member } from '../../api/schema/path.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'
import { checkImmutable } from '../common/immutable.ts'
import { podTemplateSpecSchema } from '../pods/pod-template-spec.ts'
import { specOf, templateOf } from '../workloads/pod-owner.ts'
import { jobSpecSchema } from './job-spec.ts'

/** @source upstream `pkg/apis/batch/validation`, ValidateJobSpecUpdate */
export function checkJobUpdate(object: AnyObject, current: AnyObject, found: Findings): void {
  const of = { value: specOf(object), before: specOf(current) }
  const fixed = ['completions', 'selector', 'completionMode']
  checkImmutable(jobSpecSchema, member(null, 'spec'), of, fixed, found)
  const template = templateOf(object)
  const before = hasNotStarted(current) ? withPlacement(templateOf(current), template) : templateOf(current)
  if (equalUnder(podTemplateSpecSchema, template, before)) return
  found.add(invalid('spec.template', template, 'field is immutable'))
}

/** Whether a Job is suspended and never ran: then the placement of its Pods may still change. */
function hasNotStarted(job: AnyObject): boolean {
  const isSuspended = memberOf(specOf(job), 'suspend') === true
  return isSuspended && memberOf(objectMember(job, 'status'), 'startTime') === undefined
}

/** Returns the old template with labels, annotations and node rules of the new one. */
function withPlacement(before: JsonObject, template: JsonObject): JsonObject {
  const [metadata, spec] = [objectMember(template, 'metadata'), objectMember(template, 'spec')]
  const affinity = withNodeAffinity(objectMember(before, 'spec'), spec)
  return {
    ...before,
    metadata: replaced(objectMember(before, 'metadata'), metadata, 'labels', 'annotations'),
    spec: replaced(affinity, spec, 'nodeSelector', 'tolerations'),
  }
}

function withNodeAffinity(before: JsonObject, spec: JsonObject): JsonObject {
  const affinity = objectMember(spec, 'affinity')
  const merged = replaced(objectMember(before, 'affinity'), affinity, 'nodeAffinity')
  const draft: JsonObjectDraft = { ...before }
  if (Object.keys(merged).length > 0 || Object.hasOwn(spec, 'affinity')) draft['affinity'] = merged
  else delete draft['affinity']
  return draft
}

function replaced(before: JsonObject, after: JsonObject, ...names: readonly string[]): JsonObject {
  const draft: JsonObjectDraft = { ...before }
  for (const name of names) {
    const value = memberOf(after, name)
    if (value === undefined) delete draft[name]
    else draft[name] = value
  }
  return draft
}

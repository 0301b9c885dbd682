import type { Findings } from '../../api/errors/findings.ts'
import { fieldForbidden } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { objectMember, objectsMember, textMember } from '../../api/json.ts'
import { validateAnnotations, validateLabels } from '../../api/metadata/object-meta.ts'
import type { Names } from '../../api/metadata/names.ts'
import { part, struct } from '../../api/schema/build.ts'
import { objectMetaSchema } from '../../api/schema/shared.ts'
import { withoutDisabledFields } from './disabled-fields.ts'
import { fillPodSpec } from './pod-defaults.ts'
import { checkDeletionCost } from './deletion-cost.ts'
import { checkShapeWithoutVolumes } from './pod-shape.ts'
import { podSpecSchema } from './pod-spec.ts'
import { podWarnings } from './pod-warnings.ts'
import { checkProfileAnnotations } from './profile-annotations.ts'
import { checkVolumes } from '../volumes/volume.ts'

/** The Pod template of all kinds that have one, except StatefulSet. */
export const podTemplateSpecSchema = struct('core.v1.PodTemplateSpec', 'Template for Pods.', {
  metadata: part(1, objectMetaSchema, 'Labels and annotations of the Pods.'),
  spec: part(2, podSpecSchema, 'Desired state of the Pods.'),
})

/** The template of a StatefulSet: its Pods may mount claims that are created with them. */
export const claimingPodTemplateSpecSchema = struct('core.v1.PodTemplateSpec', 'Template for Pods.', {
  metadata: part(1, objectMetaSchema, 'Labels and annotations of the Pods.'),
  spec: part(2, { ...podSpecSchema, check: checkShapeWithoutVolumes }, 'Desired state of the Pods.'),
})

/** @returns the identical template if nothing was missing */
export function fillPodTemplate(template: JsonObject): JsonObject {
  const spec = objectMember(template, 'spec')
  const filled = fillPodSpec(spec)
  return filled === spec ? template : { ...template, spec: filled }
}

/**
 * Returns a template without fields whose features are off, unless the stored one uses them.
 *
 * @param before null: the object is new
 * @returns the identical template if there is nothing to change
 */
export function withEnabledFields(template: JsonObject, before: JsonObject | null): JsonObject {
  const spec = objectMember(template, 'spec')
  const kept = withoutDisabledFields(spec, before === null ? null : objectMember(before, 'spec'))
  return kept === spec ? template : { ...template, spec: kept }
}

/**
 * Validates the rules of a template that its schema cannot express.
 *
 * @param path of the template: `spec.template`
 * @source core `pkg/apis/core/validation`, ValidatePodTemplateSpec
 */
export function checkPodTemplate(template: JsonObject, path: string, names: Names, found: Findings): void {
  const [metadata, spec] = [objectMember(template, 'metadata'), objectMember(template, 'spec')]
  const annotations = textsIn(metadata, 'annotations')
  validateLabels(textsIn(metadata, 'labels'), `${path}.metadata.labels`, found)
  validateAnnotations(annotations, `${path}.metadata.annotations`, found)
  checkProfileAnnotations(annotations, spec, `${path}.annotations`, names, found)
  checkDeletionCost(annotations, `${path}.annotations`, names, found)
  checkVolumes(objectsMember(spec, 'volumes'), `${path}.spec.volumes`, { names, podName: '' }, found)
  if (objectsMember(spec, 'ephemeralContainers').length > 0) {
    const words = 'ephemeral containers not allowed in pod template'
    found.add(fieldForbidden(`${path}.spec.ephemeralContainers`, words))
  }
}

/** @param path of the template: `spec.template` */
export function podTemplateWarnings(template: JsonObject, path: string, names: Names): Iterable<string> {
  const annotations = textsIn(objectMember(template, 'metadata'), 'annotations')
  return podWarnings({ spec: objectMember(template, 'spec'), annotations, at: `${path}.`, names })
}

function textsIn(metadata: JsonObject, member: string): { readonly [key: string]: string } {
  const map = objectMember(metadata, member)
  return Object.fromEntries(Object.keys(map).map((key) => [key, textMember(map, key)]))
}

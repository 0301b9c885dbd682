import type { Findings } from '../../api/errors/findings.ts'
import { fieldForbidden, invalid, notSupported } from '../../api/errors/field-error.ts'
import { goMap, goSelector } from '../../api/errors/go-values.ts'
import type { Json, JsonObject } from '../../api/json.ts'
import { memberOf, numberMember, objectMember, objectsMember, textMember } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import type { ObjectSchema } from '../../api/schema/schema.ts'
import { selectorOfObject } from '../../api/selectors/label-selector.ts'
import type { AnyObject, Column, ResourceHooks } from '../../registry/kinds/definition.ts'
import { statusApart } from '../common/status-apart.ts'
import { textColumn } from '../common/text-column.ts'
import { labelsText, isEmptySelector, selectorText } from '../common/selector.ts'
import {
  checkPodTemplate,
  fillPodTemplate,
  podTemplateWarnings,
  withEnabledFields,
} from '../pods/pod-template-spec.ts'

/** Shared parts of kinds with a Pod template in `spec.template`. */

const PATH = 'spec.template'

export function specOf(object: AnyObject): JsonObject {
  return objectMember(object, 'spec')
}

export function templateOf(object: AnyObject): JsonObject {
  return objectMember(specOf(object), 'template')
}

/** @returns the identical object if nothing was missing */
export function fillTemplate(object: AnyObject): AnyObject {
  const template = templateOf(object)
  const filled = fillPodTemplate(template)
  return filled === template ? object : { ...object, spec: { ...specOf(object), template: filled } }
}

/**
 * Hooks of a kind with a Pod template whose status only `/status` writes. They drop the fields of
 * the template whose features are off, unless the stored template uses them.
 */
export function templateHooks(schema: ObjectSchema): ReturnType<typeof statusApart> {
  const { prepareForCreate, prepareForUpdate } = statusApart(schema)
  return {
    prepareForCreate: (object, writing) => withEnabledTemplate(prepareForCreate(object, writing), null),
    prepareForUpdate: (object, current, writing) =>
      withEnabledTemplate(prepareForUpdate(object, current, writing), templateOf(current)),
  }
}

function withEnabledTemplate(object: AnyObject, before: JsonObject | null): AnyObject {
  const template = templateOf(object)
  const enabled = withEnabledFields(template, before)
  return enabled === template ? object : { ...object, spec: { ...specOf(object), template: enabled } }
}

/** Warnings about the template, if anything but the metadata and the status changed. */
export function warningsOfTemplate(names: Names): NonNullable<ResourceHooks['warnings']> {
  return (object, current) =>
    object.metadata.generation === current?.metadata.generation
      ? []
      : podTemplateWarnings(templateOf(object), PATH, names)
}

/**
 * Checks the template of Pods that a controller keeps running. `checkSelector` checks the selector.
 *
 * @param deadline why `activeDeadlineSeconds` is refused, in upstream's words
 * @source upstream `pkg/apis/apps/validation`, ValidatePodTemplateSpecForReplicaSet
 */
export function checkLastingTemplate(
  object: AnyObject,
  names: Names,
  deadline: string,
  found: Findings,
): void {
  const template = templateOf(object)
  const spec = objectMember(template, 'spec')
  checkPodTemplate(template, PATH, names, found)
  const policy = textMember(spec, 'restartPolicy')
  if (policy !== 'Always') found.add(notSupported(`${PATH}.spec.restartPolicy`, policy, ['Always']))
  if (memberOf(spec, 'activeDeadlineSeconds') !== undefined)
    found.add(fieldForbidden(`${PATH}.spec.activeDeadlineSeconds`, deadline))
}

/** Checks that a selector is not empty and selects the Pods of the template. */
export function checkSelector(
  object: AnyObject,
  selector: Json | undefined,
  emptyWords: string,
  found: Findings,
): void {
  const of = objectMember({ selector: selector ?? null }, 'selector')
  if (selector !== undefined && isEmptySelector(of)) {
    found.add(invalid('spec.selector', of, emptyWords, goSelector))
    return
  }
  const metadata = objectMember(templateOf(object), 'metadata')
  const labels = objectMember(metadata, 'labels')
  const texts = Object.fromEntries(Object.keys(labels).map((key) => [key, textMember(labels, key)]))
  // As upstream, an absent selector matches nothing.
  if (selector !== undefined && selectorOfObject(of).matches(texts)) return
  const words = '`selector` does not match template `labels`'
  found.add(invalid(`${PATH}.metadata.labels`, memberOf(metadata, 'labels'), words, goMap))
}

const DISK_WORDS =
  'must be true for replicated pods > 1; GCE PD can only be mounted on multiple machines if it is read-only'

/** Checks that disks of Google Compute Engine, which only one machine can write, are read-only. */
export function checkSharedDisks(object: AnyObject, found: Findings): void {
  const volumes = objectsMember(objectMember(templateOf(object), 'spec'), 'volumes')
  for (const [at, volume] of volumes.entries()) {
    const disk = memberOf(volume, 'gcePersistentDisk')
    if (disk === undefined || memberOf(objectMember(volume, 'gcePersistentDisk'), 'readOnly') === true)
      continue
    found.add(invalid(`${PATH}.spec.volumes[${at}].gcePersistentDisk.readOnly`, false, DISK_WORDS))
  }
}

function ofContainers(template: JsonObject, member: string): string {
  const containers = objectsMember(objectMember(template, 'spec'), 'containers')
  return containers.map((container) => textMember(container, member)).join(',')
}

/** Wide columns about the containers of a template. */
export function containerColumns(template: (object: AnyObject) => JsonObject): readonly Column[] {
  const wide = { type: 'string', priority: 1 } as const
  return [
    {
      ...{ ...wide, name: 'Containers', description: 'Names of the containers of each Pod.' },
      cell: (object) => ofContainers(template(object), 'name'),
    },
    {
      ...{ ...wide, name: 'Images', description: 'Images of the containers of each Pod.' },
      cell: (object) => ofContainers(template(object), 'image'),
    },
  ]
}

/** A wide column with the selector of the Pods. */
export function selectorColumn(textOf: (object: AnyObject) => string): Column {
  return {
    ...{ name: 'Selector', type: 'string', priority: 1, description: 'Selector of the Pods.' },
    cell: (object) => textOf(object) || '<none>',
  }
}

/** Returns `spec.selector`, of kinds that have a label selector there, as a text. */
export function selectorOf(object: AnyObject): string {
  return selectorText(memberOf(specOf(object), 'selector'))
}

/** Returns `spec.selector`, of kinds that have labels there, as a text. */
export function labelsOf(object: AnyObject): string {
  return labelsText(objectMember(specOf(object), 'selector'))
}

/** A column with a count of the spec or of the status. */
export function countColumn(
  name: string,
  description: string,
  part: 'spec' | 'status',
  member: string,
  type: 'integer' | 'string' = 'integer',
): Column {
  return {
    ...{ name, type, description },
    cell: (object) => {
      const count = numberMember(objectMember(object, part), member) ?? 0
      return type === 'integer' ? count : String(count)
    },
  }
}

/** Ready Pods, of those desired. */
export const readyColumn: Column = textColumn(
  'Ready',
  'Number of ready Pods, of those desired.',
  (object) => {
    const ready = numberMember(objectMember(object, 'status'), 'readyReplicas') ?? 0
    return `${ready}/${numberMember(specOf(object), 'replicas') ?? 0}`
  },
)

import type { JsonObject } from '../api/json.ts'
import { objectMember, objectsMember, textMember } from '../api/json.ts'
import { checkDns1123Subdomain } from '../api/metadata/name-rules.ts'
import type { Names } from '../api/metadata/names.ts'
import { part, struct } from '../api/schema/build.ts'
import { nameColumn } from '../registry/kinds/columns.ts'
import type { AnyObject, Column, ResourceDefinition } from '../registry/kinds/definition.ts'
import {
  checkPodTemplate,
  fillPodTemplate,
  podTemplateSpecSchema,
  podTemplateWarnings,
  withEnabledFields,
} from './pods/pod-template-spec.ts'
import { textColumn } from './common/text-column.ts'

/** A stored Pod template; the server creates nothing from it. */
export function podTemplateDefinition(names: Names): ResourceDefinition {
  return Object.freeze({
    group: '',
    version: 'v1',
    kind: 'PodTemplate',
    plural: 'podtemplates',
    singular: 'podtemplate',
    shortNames: [],
    categories: [],
    scope: 'Namespaced',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: podTemplateSchema,
    validateName: checkDns1123Subdomain,
    deleteReturnsObject: true,
    tracksGeneration: true,
    columns,
    hooks: {
      fillDefaults: (object) => {
        const template = templateOf(object)
        const filled = fillPodTemplate(template)
        return filled === template ? object : { ...object, template: filled }
      },
      prepareForCreate: (object) => withEnabled(object, null),
      prepareForUpdate: (object, current) => withEnabled(object, templateOf(current)),
      validate: (object, found) => checkPodTemplate(templateOf(object), 'template', names, found),
      warnings: (object, current) =>
        object.metadata.generation === current?.metadata.generation
          ? []
          : podTemplateWarnings(templateOf(object), 'template', names),
    },
    subresources: [],
  } satisfies ResourceDefinition)
}

const podTemplateSchema = struct('core.v1.PodTemplate', 'A stored template for Pods.', {
  template: part(2, podTemplateSpecSchema, 'The Pod template.'),
})

const columns: readonly Column[] = [
  nameColumn,
  textColumn('Containers', 'Names of its containers.', (object) => ofContainers(object, 'name')),
  textColumn('Images', 'Images of its containers.', (object) => ofContainers(object, 'image')),
  textColumn('Pod Labels', 'Labels of Pods that are created from it.', (object) => {
    const labels = objectMember(objectMember(templateOf(object), 'metadata'), 'labels')
    const pairs = Object.keys(labels).map((key) => `${key}=${textMember(labels, key)}`)
    return pairs.length === 0 ? '<none>' : pairs.sort().join(',')
  }),
]

function withEnabled(object: AnyObject, before: JsonObject | null): AnyObject {
  const template = withEnabledFields(templateOf(object), before)
  return template === templateOf(object) ? object : { ...object, template }
}

function templateOf(object: AnyObject): JsonObject {
  return objectMember(object, 'template')
}

function ofContainers(object: AnyObject, member: string): string {
  const containers = objectsMember(objectMember(templateOf(object), 'spec'), 'containers')
  return containers.map((container) => textMember(container, member)).join(',')
}

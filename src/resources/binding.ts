import type { Findings } from '../api/errors/findings.ts'
import { conflict } from '../api/errors/standard-errors.ts'
import { notSupported, required } from '../api/errors/field-error.ts'
import type { JsonObject } from '../api/json.ts'
import { objectMember, objectsMember, textMember } from '../api/json.ts'
import { part, struct } from '../api/schema/build.ts'
import type { Path } from '../api/schema/path.ts'
import { fieldAt } from '../api/schema/path.ts'
import type {
  AnyObject,
  DefinitionFor,
  OperationSubresource,
  ResourceDefinition,
  WriteContext,
} from '../registry/kinds/definition.ts'
import { objectReferenceSchema } from './common/object-reference.ts'

const bindingSchema = struct(
  'core.v1.Binding',
  'Binds a Pod to a node.',
  { target: part(2, objectReferenceSchema, 'The target node.', { required: true, always: true }) },
  { check: checkTarget },
)

/**
 * `pods/binding`: schedules a Pod, once.
 *
 * @source core `pkg/registry/core/pod/storage/storage.go`, BindingREST
 */
export const binding: OperationSubresource = {
  name: 'binding',
  verbs: ['create'],
  body: { group: '', version: 'v1', kind: 'Binding', schema: bindingSchema },
  operation: (body) => ({
    kind: 'change',
    change: (current, writing) => placed(current, body, writing),
  }),
}

/** The same operation with a path that does not name the Pod, as used by early schedulers. */
export const bindingDefinition: DefinitionFor = () =>
  Object.freeze({
    group: '',
    version: 'v1',
    kind: 'Binding',
    plural: 'bindings',
    singular: 'binding',
    shortNames: [],
    categories: [],
    scope: 'Namespaced',
    verbs: ['create'],
    schema: bindingSchema,
    // The name is that of a Pod.
    validateName: () => [],
    deleteReturnsObject: false,
    hooks: {},
    aliasOfSubresource: { plural: 'pods', subresource: binding.name },
    subresources: [],
  } satisfies ResourceDefinition)

/** @source core `pkg/apis/core/validation`, ValidatePodBinding */
function checkTarget(body: JsonObject, at: Path | null, found: Findings): void {
  const target = objectMember(body, 'target')
  const kind = textMember(target, 'kind')
  const path = (name: string): string => `${fieldAt(at, 'target')}.${name}`
  if (kind !== '' && kind !== 'Node') found.add(notSupported(path('kind'), kind, ['Node', '<empty>']))
  if (textMember(target, 'name') === '') found.add(required(path('name')))
}

/** @throws ApiError `Conflict` if the Pod has a node or is being deleted */
function placed(pod: AnyObject, body: AnyObject, writing: WriteContext): AnyObject {
  const { name = '', deletionTimestamp } = pod.metadata
  const spec = objectMember(pod, 'spec')
  const node = textMember(spec, 'nodeName')
  const refusal = (why: string): Error => conflict({ group: '', resource: 'pods/binding' }, name, why)
  if (deletionTimestamp !== undefined) {
    throw refusal(`pod ${name} is being deleted, cannot be assigned to a host`)
  }
  if (node !== '') throw refusal(`pod ${name} is already assigned to node ${JSON.stringify(node)}`)
  const annotations = { ...pod.metadata.annotations, ...body.metadata.annotations }
  const status = objectMember(pod, 'status')
  return {
    ...pod,
    metadata: { ...pod.metadata, annotations },
    spec: { ...spec, nodeName: textMember(objectMember(body, 'target'), 'name') },
    status: { ...status, conditions: scheduled(objectsMember(status, 'conditions'), writing.time) },
  }
}

/** Adds the condition PodScheduled; its time is kept if it was True before. */
function scheduled(conditions: readonly JsonObject[], time: string): readonly JsonObject[] {
  const type = 'PodScheduled'
  const before = conditions.find((condition) => textMember(condition, 'type') === type)
  const since =
    before !== undefined && textMember(before, 'status') === 'True' ? before['lastTransitionTime'] : time
  const now: JsonObject = { type, status: 'True', lastTransitionTime: since ?? time }
  if (before === undefined) return [...conditions, now]
  return conditions.map((condition) => (condition === before ? now : condition))
}

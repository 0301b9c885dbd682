import { assert, assertNever } from '../../../base/assert.ts'
import { badRequest, notFound, serviceUnavailable } from '../../api/errors/standard-errors.ts'
import { jsonText } from '../../api/codec/json-text.ts'
import { applyDefaults } from '../../api/schema/default.ts'
import { successStatus } from '../../api/errors/status.ts'
import type { VerbResponse, VerbRequest, WriteRequest } from '../calls/verb.ts'
import { checkNamespace, decodeObject, reshapeObject } from '../writing/decode.ts'
import type {
  AnyObject,
  ObjectOperation,
  OperationSubresource,
  PartSubresource,
  ResourceDefinition,
} from '../kinds/definition.ts'
import { deleteOptionsOf } from '../writing/read-delete-options.ts'
import { draftDelete } from './delete.ts'
import { documentResponse, statusResponse } from '../calls/document-response.ts'
import { readWriteOptions } from '../calls/query-options.ts'
import type { WriteOptions } from '../calls/query-options.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'
import type { ReadSet } from '../shared/read-set.ts'
import { keyOf } from '../../store/key.ts'
import { keyOfTarget } from '../calls/request.ts'
import type { Target } from '../calls/request.ts'
import { parseStored } from '../kinds/encode.ts'
import { resourceOf } from '../kinds/definition.ts'
import { checkPreconditions, draftRewrite } from '../writing/rewrite.ts'
import { operationOf } from '../calls/subresource.ts'
import { withJointChange } from '../writing/joint-change.ts'
import { validateBody } from '../writing/validate-write.ts'
import { planAdmitted, runWrite } from '../writing/write-pipeline.ts'
import type { Draft } from '../writing/write-pipeline.ts'
import type { Plan } from '../writing/plan.ts'

/** Whether a create operates on an existing object instead of creating one. */
export function isOperation({ definition, target }: VerbRequest): boolean {
  return target.subresource !== null || definition.aliasOfSubresource !== undefined
}

/**
 * Runs an operation on an object, requested by a body of another kind: 201 with a `Status` or the
 * completed body once it is done. The object is that of the path or, for a kind that is an alias of
 * a subresource, the one with the name of the body. Admission sees the creation of the body; the
 * following change of the object is not admitted again, as upstream.
 *
 * @throws ApiError
 * @source spec 1.4; core `pkg/registry/core/pod/storage`
 */
export async function operate(dependencies: VerbDependencies, request: WriteRequest): Promise<VerbResponse> {
  const { definition, target } = request
  const options = readWriteOptions(request.query, 'CreateOptions', dependencies.names.domain)
  const named = definition.aliasOfSubresource === undefined ? operationAt(request) : null
  const kind = named?.body ?? definition
  const sent = await decodeObject(dependencies, request, options.fieldValidation, { kind })
  checkNamespace(sent, target)
  const body = named?.returnsBody === true ? withName(sent, target) : sent
  if (named !== null && body.metadata.name !== target.name) {
    throw badRequest(`name in URL does not match name in ${named.body.kind} object`)
  }
  const on = named === null ? operatedObject(dependencies, request, body) : request
  const operation = named ?? operationAt(on)
  const task = { operation, on, options }
  const response = await runWrite(dependencies, request, {
    options: { kind: 'CreateOptions', ...options },
    decode: () => body,
    draft: (_, reads) => draftBody(dependencies, task, body, reads),
    retry: {
      attemptsMax: dependencies.limits.rewriteAttemptsMax,
      key: () => keyOfTarget(on.definition, on.target),
      barrierFirst: options.dryRun || operation.returnsBody === true || operation.jointChange !== undefined,
      on,
    },
  })
  return operation.returnsBody === true ? response : statusResponse(201, successStatus(201))
}

/** Returns a body with the namespace of the path, and with its name if the body lacks one. */
function withName(body: AnyObject, { namespace, name }: Target): AnyObject {
  const place = { ...(namespace === null ? {} : { namespace }), name: body.metadata.name || (name ?? '') }
  return { ...body, metadata: { ...body.metadata, ...place } }
}

/** @throws ApiError */
function operationAt({ definition, target }: VerbRequest): OperationSubresource {
  const operation = operationOf(definition, target)
  assert(operation !== null, 'a subresource is requested')
  return operation
}

/**
 * Returns the request for the subresource that the kind is an alias of. @throws ApiError
 * `BadRequest` for a body without a name
 */
function operatedObject(
  dependencies: VerbDependencies,
  request: WriteRequest,
  { metadata }: AnyObject,
): WriteRequest {
  const { group, version, aliasOfSubresource } = request.definition
  if (!metadata.name)
    throw badRequest('metadata.name is required: the name of the object that the request is for')
  const { plural, subresource } = aliasOfSubresource ?? { plural: '', subresource: '' }
  const operated = dependencies.catalog.find(group, version, plural)
  assert(operated !== null, `there are ${plural}`)
  return { ...request, definition: operated, target: { ...request.target, name: metadata.name, subresource } }
}

type Task = {
  readonly operation: OperationSubresource
  /** The request for the target object. */
  readonly on: WriteRequest
  readonly options: WriteOptions
}

function draftBody(dependencies: VerbDependencies, task: Task, body: AnyObject, reads: ReadSet): Draft {
  const { body: kind } = task.operation
  return {
    ...({ operation: 'CREATE', object: body, current: null, objectKind: kind } as const),
    reshape: (mutated) => reshapeObject(dependencies, kind, mutated),
    validate: (object) => validateBody(kind, task.on.target.name ?? '', object),
    plan: (object) => {
      const what = task.operation.operation(object)
      if (what.kind === 'answer') return planAnswer(dependencies, task, what, reads)
      const draft = draftOperation(dependencies, task, { what, body: object }, reads)
      return planAdmitted({ request: task.on, reads }, draft)
    },
  }
}

type Answer = Extract<ObjectOperation, { readonly kind: 'answer' }>

/** @throws ApiError */
async function planAnswer(
  { tokens }: VerbDependencies,
  { on: { definition, target, context }, options }: Task,
  { answer }: Answer,
  reads: ReadSet,
): Promise<Plan> {
  if (tokens === undefined) throw serviceUnavailable('this server does not issue tokens')
  const stored = reads.get(keyOfTarget(definition, target))
  if (stored === null) throw notFound(resourceOf(definition), target.name ?? '')
  const namespace = target.namespace ?? ''
  const answered = await answer({
    object: parseStored(stored),
    find: (plural, name) => {
      if (name === '' || name.includes('/')) return null
      const found = reads.getOther(keyOf({ group: '', plural, namespace, name }))
      return found === null ? null : parseStored(found)
    },
    ...{ tokens, dryRun: options.dryRun, warn: context.warn },
  })
  return { kind: 'answer', value: documentResponse(201, Buffer.from(jsonText(answered))) }
}

/** Drafts what the operation does to its object. */
function draftOperation(
  dependencies: VerbDependencies,
  { operation, on, options }: Task,
  { what, body }: { readonly what: Exclude<ObjectOperation, Answer>; readonly body: AnyObject },
  reads: ReadSet,
): Draft {
  switch (what.kind) {
    case 'delete': {
      const requested = deleteOptionsOf(dependencies, what.options)
      const deletion = { ...requested, dryRun: options.dryRun || requested.dryRun }
      const draft = draftDelete(dependencies, on, deletion, reads)
      const { jointChange } = operation
      if (jointChange === undefined) return draft
      return withJointChange(dependencies, on, draft, { decide: jointChange, reads })
    }
    case 'change': {
      const change = (current: AnyObject): AnyObject => {
        checkPreconditions(on, body.metadata, current)
        // As for request bodies, defaults are added to new parts.
        return filled(dependencies, on.definition, what.change(current, on.admission.writing))
      }
      const subresource = wholeObject(on.definition)
      return draftRewrite(
        dependencies,
        on,
        { subresource, options: { kind: 'UpdateOptions', ...options }, change },
        reads,
      )
    }
    default:
      return assertNever(what)
  }
}

function filled(
  dependencies: VerbDependencies,
  definition: ResourceDefinition,
  object: AnyObject,
): AnyObject {
  // Adding defaults does not change the type.
  return applyDefaults(dependencies.schemas.of(definition), object) as AnyObject
}

/** The whole object may be changed, subject to all rules except those for client updates. */
function wholeObject({ hooks }: ResourceDefinition): PartSubresource {
  return {
    ...{ name: '', verbs: [] },
    prepareForUpdate: (object) => object,
    validateUpdate: (object, _, found) => hooks.validate?.(object, found),
  }
}

import { assert, assertNever } from '../../raft/base/assert.ts'
import { badRequest, notFound } from '../api/api-errors.ts'
import { requireValid } from '../api/findings.ts'
import { applyDefaults } from '../api/schema/default.ts'
import { validateSchema } from '../api/schema/validate.ts'
import { successStatus } from '../api/status.ts'
import type { Admission } from './admission.ts'
import type { Answer, VerbRequest } from './answer.ts'
import { document } from './create.ts'
import { checkNamespace, decodeObject } from './decode.ts'
import { resourceOf } from './definition.ts'
import type { AnyObject, OperationSubresource, PartSubresource, ResourceDefinition } from './definition.ts'
import { deleteOptionsOf } from './delete-options.ts'
import { planRemove } from './delete.ts'
import { writingOf } from './metadata.ts'
import { readWriteOptions } from './options.ts'
import type { VerbParts } from './parts.ts'
import { keyOfTarget } from './request.ts'
import { checkPreconditions, planRewrite } from './rewrite.ts'
import { settle } from './settle.ts'
import type { Plan } from './settle.ts'
import { operationOf } from './subresource.ts'

/** Whether a create has something done to an object, and makes none. */
export function isOperation({ definition, target }: VerbRequest): boolean {
  return target.subresource !== null || definition.standsFor !== undefined
}

/**
 * Has something done to an object, as a body of another kind says: 201 with a `Status` once it is done. The object is that
 * of the path, or for a kind that stands for such a subresource the one whose name the body has.
 *
 * @throws ApiError
 * @source spec 1.4; core `pkg/registry/core/pod/storage`
 */
export async function operate(parts: VerbParts, request: VerbRequest): Promise<Answer> {
  const { definition, target } = request
  const options = readWriteOptions(request.query)
  const named = definition.standsFor === undefined ? operationAt(request) : null
  const body = decodeObject(parts, request, options.fieldValidation, named?.body ?? definition)
  checkNamespace(body, target)
  if (named !== null && body.metadata.name !== target.name) {
    throw badRequest(`name in URL does not match name in ${named.body.kind} object`)
  }
  const on = named === null ? meantBy(parts, request, body) : request
  const operation = named ?? operationAt(on)
  return carryOut(parts, request, { operation, body, on, dryRun: options.dryRun })
}

/** @throws ApiError */
function operationAt({ definition, target }: VerbRequest): OperationSubresource {
  const operation = operationOf(definition, target)
  assert(operation !== null, 'a subresource is asked for')
  return operation
}

/** The request for the subresource that the kind stands for. @throws ApiError `BadRequest` for an object without a name */
function meantBy(parts: VerbParts, request: VerbRequest, { metadata }: AnyObject): VerbRequest {
  const { group, version, standsFor } = request.definition
  if (!metadata.name) throw badRequest('name is required: it is that of the object meant')
  const { plural, subresource } = standsFor ?? { plural: '', subresource: '' }
  const meant = parts.catalog.find(group, version, plural)
  assert(meant !== null, `there are ${plural}`)
  return { ...request, definition: meant, target: { ...request.target, name: metadata.name, subresource } }
}

type Task = {
  readonly operation: OperationSubresource
  readonly body: AnyObject
  /** What it is done to. */
  readonly on: VerbRequest
  readonly dryRun: boolean
}

/** @param request as admission sees it: something is created there */
async function carryOut(parts: VerbParts, request: VerbRequest, task: Task): Promise<Answer> {
  const { definition, target } = task.on
  await settle(parts, task.on, () => planOperation(parts, request, task), {
    attemptsMax: parts.limits.rewriteAttemptsMax,
    key: keyOfTarget(definition, target),
  })
  return { ...document(201, Buffer.from(JSON.stringify(successStatus(201)))), isStatus: true }
}

async function planOperation(parts: VerbParts, request: VerbRequest, task: Task): Promise<Plan<Answer>> {
  const { operation, on } = task
  const body = await admittedBody(parts, request, task)
  // What it brings about was admitted with the body, as upstream has it.
  const behind = { ...parts, admission: admitted }
  const what = operation.operation(body)
  switch (what.kind) {
    case 'delete': {
      const options = deleteOptionsOf(what.options)
      return planRemove(behind, on, { ...options, dryRun: task.dryRun || options.dryRun })
    }
    case 'change':
      return planRewrite(behind, on, {
        subresource: wholeObject(on.definition),
        dryRun: task.dryRun,
        change: (current) => {
          checkPreconditions(on, body.metadata, current)
          // As a client's words are: what is always said is said of new parts too.
          return filled(parts, on.definition, what.change(current, writingOf(parts, on)))
        },
        onMissing: () => {
          throw notFound(resourceOf(on.definition), on.target.name ?? '')
        },
      })
    default:
      return assertNever(what)
  }
}

function filled(parts: VerbParts, definition: ResourceDefinition, object: AnyObject): AnyObject {
  // Defaults are added, nothing is taken away: it is of the type it was.
  return applyDefaults(parts.schemas.of(definition), object) as AnyObject
}

/** @throws ApiError */
async function admittedBody(parts: VerbParts, request: VerbRequest, task: Task): Promise<AnyObject> {
  const { definition, target, context } = request
  const asked = {
    ...({ operation: 'CREATE', definition, target, object: task.body, oldObject: null } as const),
    ...{ user: context.user, dryRun: task.dryRun, warn: context.warn },
  }
  const body = (await parts.admission.mutate(asked)) ?? task.body
  const kind = task.operation.body
  requireValid(kind, task.on.target.name ?? '', (found) => {
    validateSchema(kind.schema, body, found)
  })
  await parts.admission.validate({ ...asked, object: body })
  return body
}

const admitted: Admission = { mutate: ({ object }) => object, validate: () => undefined }

/** All of the object may be changed, and all its rules hold but those for what clients may change. */
function wholeObject({ hooks }: ResourceDefinition): PartSubresource {
  return {
    ...{ name: '', verbs: [] },
    prepareForUpdate: (object) => object,
    validateUpdate: (object, _, found) => hooks.validate?.(object, found),
  }
}

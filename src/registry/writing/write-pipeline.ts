import type { AdmissionOptions, AdmissionRequest } from '../calls/admission.ts'
import type { VerbResponse, WriteRequest } from '../calls/verb.ts'
import { authorizeCreation } from './authorize-creation.ts'
import type { AnyObject, BodyKind } from '../kinds/definition.ts'
import { noConverter } from '../kinds/object-converter.ts'
import { withClaims } from './claims.ts'
import { withCompanion } from './companions.ts'
import { awaitedBy, ConversionAwaited } from './awaited-conversions.ts'
import { onceByKey } from './idempotency.ts'
import { keyOfTarget } from '../calls/request.ts'
import { keepManagedFields } from './manage-fields.ts'
import type { ManageFields } from './manage-fields.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'
import type { ReadSet } from '../shared/read-set.ts'
import { retryOnConflict } from './retry-on-conflict.ts'
import { withConditions, withExtraOperations } from './plan.ts'
import type { RetryOptions } from './retry-on-conflict.ts'
import type { Plan } from './plan.ts'
import { yieldToEventLoop } from '../shared/yield-budget.ts'

/**
 * Runs a write: create, update, patch, delete, an operation such as eviction, or a review. All take
 * the same steps in the same order; a verb supplies those that differ, as a `Write`.
 *
 * The steps of a `Write` are local and have no effects: they may be evaluated again. Calls of
 * external services go through the `AdmissionContext` of the request, which caches the result until
 * the objects differ.
 *
 * @throws ApiError
 * @source apiserver `pkg/endpoints/handlers`, `pkg/registry/generic/registry/store.go`
 */
export function runWrite<Sent>(
  dependencies: VerbDependencies,
  request: WriteRequest,
  write: Write<Sent>,
): Promise<VerbResponse> {
  const { clock } = dependencies
  const once = onceByKey(dependencies, request, write.options)
  const evaluated = (sent: Sent): Promise<VerbResponse> => {
    const evaluateOnce = (reads: ReadSet): Promise<Plan> =>
      evaluateDraft(dependencies, { request, options: write.options, reads }, write.draft(sent, reads))
    const evaluate = evaluateConverted(dependencies, request, evaluateOnce)
    // 9. Commit or respond: evaluated again after a lost race, and where memory was stale.
    return once === null
      ? retryOnConflict(dependencies, request, evaluate, write.retry)
      : retryOnConflict(dependencies, request, once.evaluate(evaluate), {
          isMade: once.isMade,
          ...write.retry,
        })
  }
  // 1. Decode and default: once, regardless of retries.
  const sent = write.decode()
  if (!isLong(dependencies, request, 0))
    return sent instanceof Promise ? sent.then(evaluated) : evaluated(sent)
  return Promise.resolve(sent).then((decoded) => yieldToEventLoop(clock).then(() => evaluated(decoded)))
}

/**
 * Returns the evaluation for a kind that a webhook converts: the object is made readable first, and
 * an evaluation that needs it in another version is repeated after that conversion. For other
 * kinds, returns the evaluation unchanged.
 */
function evaluateConverted(
  { store, converter = noConverter }: VerbDependencies,
  request: WriteRequest,
  evaluate: (reads: ReadSet) => Promise<Plan>,
): (reads: ReadSet) => Promise<Plan> {
  const { definition, target, context } = request
  if (definition.storedAs?.webhook === undefined) return evaluate
  return async (reads) => {
    for (;;) {
      if (store.conversions !== undefined && target.name !== null)
        await reads.prepare(keyOfTarget(definition, target), context.deadlineMs)
      try {
        return await evaluate(reads)
      } catch (cause) {
        if (!(cause instanceof ConversionAwaited)) throw cause
        await awaitedBy(request).make(cause, converter, context.deadlineMs)
      }
    }
  }
}

/**
 * One evaluation: from the draft of a write to what is to be committed. @throws ApiError to refuse
 */
export async function evaluateDraft(
  dependencies: VerbDependencies,
  of: Evaluation,
  draft: Draft,
): Promise<Plan> {
  const { admission } = dependencies
  if (draft.createsByUpdate === true) await authorizeCreation(dependencies, of.request)
  // Validating a result of an update or a patch takes as long as producing it.
  const long = isLong(dependencies, of.request, of.reads.bytes)
  if (long && draft.current !== null) await yieldToEventLoop(dependencies.clock)
  // 2. Mutate.
  const drafted = admissionRequest(of, draft)
  const answer = admission.mutate(drafted)
  const mutated = answer instanceof Promise ? await answer : answer
  // 3. to 6.
  const object = completeObject(draft, mutated)
  // 7. Admit.
  const complete = draft.operation === 'DELETE' ? drafted : { ...drafted, object }
  const verdict = admission.validate(complete)
  if (verdict instanceof Promise) await verdict
  if (long) await yieldToEventLoop(dependencies.clock)
  // 8. Plan what to commit, with the operations that admission adds.
  const planned = planOf(of, draft, object)
  const plan = planned instanceof Promise ? await planned : planned
  const conditions = admission.extraConditions?.(complete) ?? []
  return withExtraOperations(withConditions(plan, conditions), admission.extraOperations(complete))
}

/**
 * Whether the steps of a write take so long that it yields between them. What was read may change
 * in between, as during calls of admission: apply decides whether it still holds.
 *
 * @param readBytes bytes of the single objects that it has read
 */
function isLong({ limits }: VerbDependencies, { body }: WriteRequest, readBytes: number): boolean {
  return body.byteLength + readBytes > limits.writeTurnBytes
}

/**
 * Runs the local steps of an evaluation for a change that admission has seen already. @throws
 * ApiError to refuse
 */
export function planAdmitted(of: Pick<Evaluation, 'request' | 'reads'>, draft: Draft): Plan | Promise<Plan> {
  return planOf(of, draft, completeObject(draft, draft.object))
}

/** The only way from a draft to a plan: adds what else the command changes. */
function planOf(
  of: Pick<Evaluation, 'request' | 'reads'>,
  draft: Draft,
  object: AnyObject,
): Plan | Promise<Plan> {
  const complete = (plan: Plan): Plan =>
    withCompanion(of.request, of.reads, withClaims(of, draft, object, plan))
  const planned = draft.plan(object)
  return planned instanceof Promise ? planned.then(complete) : complete(planned)
}

function completeObject(draft: Draft, mutated: AnyObject | null): AnyObject {
  // 3. Default and prune again what admission changed.
  const shaped = mutated === null || mutated === draft.object ? draft.object : draft.reshape(mutated)
  // 4. Prepare: set the fields that clients may not set.
  const prepared = draft.prepare?.(shaped) ?? shaped
  // 5. Manage fields: what admission and the server changed has no owner.
  const manage = draft.manage ?? keepManagedFields(draft.current)
  const managed = manage(prepared, { drafted: draft.object, shaped })
  // 6. Validate.
  draft.validate?.(managed)
  return managed
}

/** The steps of one verb for one request. */
export type Write<Sent> = {
  readonly options: AdmissionOptions
  /** Parses the body. Called once. @throws ApiError */
  readonly decode: () => Sent | Promise<Sent>
  /** Begins an evaluation. @throws ApiError to refuse */
  readonly draft: (sent: Sent, reads: ReadSet) => Draft
  readonly retry: RetryOptions
}

/**
 * The steps of one evaluation that depend on the verb and the kind. All throw `ApiError` to refuse.
 */
export type Draft = {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE'
  /**
   * The object with defaults and server-set fields. DELETE: the stored object, or the readable part
   * of it.
   */
  readonly object: AnyObject
  /** The stored object. null: the object is new, or cannot be read. */
  readonly current: AnyObject | null
  /** See `AdmissionRequest`. */
  readonly objectKind?: BodyKind
  /** An update that creates a missing object: the caller also needs permission to create it. */
  readonly createsByUpdate?: true
  /**
   * Applies defaults and prunes after admission, and restores the fields that only the server sets.
   */
  readonly reshape: (mutated: AnyObject) => AnyObject
  readonly prepare?: (object: AnyObject) => AnyObject
  /** Sets the owners of fields. Unset: those of the stored object stay. */
  readonly manage?: ManageFields
  readonly validate?: (object: AnyObject) => void
  /** Asynchronous only for reviews, issued tokens, and operations with a joint change. */
  readonly plan: (object: AnyObject) => Plan | Promise<Plan>
}

/** The request and reads of one evaluation. */
export type Evaluation = {
  readonly request: WriteRequest
  readonly options: AdmissionOptions
  /** The reads that the draft depends on. */
  readonly reads: ReadSet
}

function admissionRequest({ request, options, reads }: Evaluation, draft: Draft): AdmissionRequest {
  const { definition, target, admission: context } = request
  const { operation, current, objectKind, reshape } = draft
  const object = operation === 'DELETE' ? null : draft.object
  const oldObject = current
  const asked = { context, operation, definition, target, options, object, oldObject, reshape, reads }
  return objectKind === undefined ? asked : { objectKind, ...asked }
}

import { assertNever } from '../../../base/assert.ts'
import { ApiError } from '../../api/errors/api-error.ts'
import { modifiedConflict, serviceUnavailable, tooManyRequests } from '../../api/errors/standard-errors.ts'
import type { Condition, Operation, Outcome } from '../../store/command.ts'
import type { Key } from '../../store/key.ts'
import type { VerbResponse, VerbRequest, WriteRequest } from '../calls/verb.ts'
import { withPrecondition } from '../kinds/definition-basis.ts'
import { resourceOf } from '../kinds/definition.ts'
import { partialFailure } from '../shared/membership-changes.ts'
import type { MembershipChange } from '../shared/membership-changes.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'
import { ReadSet } from '../shared/read-set.ts'
import { checkStorageQuota, sizeError } from './storage-quota.ts'
import { fromStore } from '../shared/store-error-mapping.ts'
import type { Evaluate, Plan } from './plan.ts'

export type RetryOptions = {
  /** Maximum number of evaluations that lose a race for the written object. */
  readonly attemptsMax: number
  /**
   * Returns the key of the written object: requests that lost a race for it are serialized. null: a
   * create, or a review. Called only after an evaluation has returned a plan.
   */
  readonly key: (() => Key) | null
  /**
   * Whether the request replaces a certain version, so that it loses if another write of the object
   * succeeds. Unset: no.
   */
  readonly namesVersion?: () => boolean
  /**
   * Passes a barrier before the first evaluation: because the result is never a write, or because
   * the evaluation needs current memory.
   */
  readonly barrierFirst: boolean
  /** The request for the written object if it is not the object of the path. */
  readonly on?: VerbRequest
  /**
   * Returns an error for a lost condition that another evaluation would lose again; null to retry.
   */
  readonly onLost?: (condition: Condition) => ApiError | null
  /** Returns whether another request has made the change by now: another evaluation finds it. */
  readonly isMade?: () => boolean
  /** Returns the error when the attempts are spent. Unset: `TooManyRequests`. */
  readonly exhausted?: () => ApiError
}

/**
 * Evaluates a write optimistically on local memory and proposes the result. Apply decides whether
 * its conditions hold; after a lost race the write is evaluated again. A refusal, a dry run or "no
 * change" has no conditions that apply could check and may be based on stale memory. It is
 * confirmed after a read barrier: it stands if what the evaluation read is unchanged, else it is
 * evaluated again. A lost race serves as a barrier: this member has applied the decision.
 *
 * Membership changes are requested only after a barrier and once everything else of the request
 * holds; they have no conditions of their own. A later error lists those that were made.
 *
 * @throws ApiError
 */
export async function retryOnConflict(
  dependencies: VerbDependencies,
  request: WriteRequest,
  evaluate: Evaluate,
  options: RetryOptions,
): Promise<VerbResponse> {
  const state: WriteState = { evaluate, applied: [] }
  try {
    const first = await firstAttempt(dependencies, request, state, options)
    if (first.kind === 'answer') return first.value
    return await attemptsInTurn(dependencies, request, state, options, first)
  } catch (cause) {
    throw partialFailure(state.applied, cause)
  }
}

const retryAfterSeconds = 1

/** Remaining work of a request, and the membership changes made for it. */
type WriteState = { evaluate: Evaluate; applied: readonly MembershipChange[] }

type Attempt = { readonly kind: 'answer'; readonly value: VerbResponse } | LostRace | AwaitedWrite

/**
 * @param shared the object besides the written one that the race was for, such as a quota; null:
 *   the written one
 */
type LostRace = {
  readonly kind: 'lost'
  readonly shared: Key | null
  /** Nothing was proposed, because another request is about to change the object. */
  readonly isBusy: boolean
}

/** Nothing was proposed: a write of the object that is in flight decides about it. */
type AwaitedWrite = { readonly kind: 'awaits'; readonly key: Key }

/** How an attempt evaluates, and the shared object whose lock it holds; null: none. */
type Turn = { readonly evaluated: typeof evaluateConfirmed; readonly held: Key | null }

const firstTurn = { evaluated: evaluateConfirmed, held: null } as const

/**
 * Evaluates and proposes once. Of requests that name one version of an object only one can succeed:
 * the others wait for its outcome, all at the same time, because losing commands would fill the
 * log.
 */
async function firstAttempt(
  dependencies: VerbDependencies,
  request: WriteRequest,
  state: WriteState,
  options: RetryOptions,
): Promise<Exclude<Attempt, AwaitedWrite>> {
  for (;;) {
    const made = await attempt(dependencies, request, state, options, firstTurn)
    if (made.kind !== 'awaits') return made
    await dependencies.writesInFlight.ended(made.key, request.context.deadlineMs)
  }
}

/**
 * Retries after a lost race, serialized by what the race was for: the written object, or another
 * one that the command changes. Only one lock is held at a time.
 */
async function attemptsInTurn(
  dependencies: VerbDependencies,
  request: WriteRequest,
  state: WriteState,
  options: RetryOptions,
  first: LostRace,
): Promise<VerbResponse> {
  const { writers, limits, clock } = dependencies
  const { deadlineMs } = request.context
  let held: Key | null = null
  const lost = { own: 0, shared: 0 }
  try {
    for (let race = first; ;) {
      if (race.shared === null) lost.own++
      else lost.shared++
      if (lost.own >= options.attemptsMax || lost.shared >= limits.rewriteAttemptsMax) break
      const key: Key | null = race.shared ?? options.key?.() ?? null
      if (key !== held) {
        if (held !== null) writers.unlock(held)
        held = null
        if (key !== null) await writers.lock(key, deadlineMs)
        held = key
      }
      const startedMs = clock.monotonicMs()
      // A lost race is a barrier: its outcome was applied here.
      const evaluated = race.isBusy ? evaluateConfirmed : evaluateCurrent
      const again = await attempt(dependencies, request, state, options, { evaluated, held: race.shared })
      if (again.kind === 'awaits') {
        await dependencies.writesInFlight.ended(again.key, deadlineMs)
        race = { ...race, isBusy: true }
        continue
      }
      if (again.kind === 'answer') {
        if (race.shared !== null && held !== null) {
          releaseLater(dependencies, held, startedMs)
          held = null
        }
        return again.value
      }
      race = again
    }
  } finally {
    if (held !== null) writers.unlock(held)
  }
  // No `Conflict`: the caller named no version that it could read again.
  const why = 'too many concurrent changes of this object; nothing was changed'
  const exhausted = lost.own >= options.attemptsMax ? options.exhausted?.() : undefined
  throw exhausted ?? tooManyRequests(retryAfterSeconds, why)
}

/**
 * Releases the lock of a shared object after a random time, in proportion to how long the write
 * took, if others wait for it. The leader learns first of each change and would win every race
 * otherwise; in the pause, writers at other members win some.
 */
function releaseLater({ writers, clock, random }: VerbDependencies, key: Key, startedMs: number): void {
  const tookMs = Math.min(clock.monotonicMs() - startedMs, pauseMsMax)
  const pauseMs = writers.isAwaited(key) ? random.below(Math.ceil(2 * tookMs) + 1) : 0
  if (pauseMs === 0) writers.unlock(key)
  else clock.after(pauseMs, () => writers.unlock(key))
}

const pauseMsMax = 50

async function attempt(
  dependencies: VerbDependencies,
  request: WriteRequest,
  state: WriteState,
  options: RetryOptions,
  turn: Turn,
): Promise<Attempt> {
  const { store } = dependencies
  const { deadlineMs } = request.context
  const first = await turn.evaluated(dependencies, request, state.evaluate, options)
  const plan =
    first.kind === 'membership-changes'
      ? await runExternalChanges(dependencies, request, state, first)
      : first
  // Another request changed the membership in between.
  if (plan.kind === 'membership-changes') return lostRace(null)
  if (plan.kind === 'dry-run') await store.conversions?.dryRun(plan.operations, deadlineMs)
  if (plan.kind !== 'write') return { kind: 'answer', value: plan.value }
  const busy = turn.held === null ? busyKey(dependencies, plan.operations) : null
  if (busy !== null) return { kind: 'lost', shared: busy, isBusy: true }
  const { writesInFlight } = dependencies
  const key = options.key?.() ?? null
  if (key !== null && options.namesVersion?.() === true && writesInFlight.has(key))
    return { kind: 'awaits', key }
  const operations = onlyWhile(request, withPrecondition(plan.operations, dependencies.definitionState?.()))
  const write = (): Promise<Outcome> => fromStore(store.write({ kind: 'write', operations }, deadlineMs))
  const outcome = key === null ? await write() : await writesInFlight.run(key, write)
  switch (outcome.kind) {
    case 'done':
      return { kind: 'answer', value: plan.done(outcome.revisions) }
    case 'refused': {
      if (options.isMade?.() === true) return lostRace(null)
      const isOwn = outcome.operation === 0
      const known = isOwn ? options.onLost?.(outcome.condition) : null
      const error = known ?? lostForGood(request, outcome.condition)
      if (error !== null) throw error
      return lostRace(isOwn ? null : (operations[outcome.operation]?.key ?? null))
    }
    case 'too-large':
    case 'over-quota':
      throw sizeError(store, options.on ?? request, plan.operations, outcome)
    case 'nothing':
      return lostRace(null)
    default:
      return assertNever(outcome)
  }
}

function lostRace(shared: Key | null): LostRace {
  return { kind: 'lost', shared, isBusy: false }
}

/** Returns the first of the other objects of a command that another request has locked. */
function busyKey({ writers }: VerbDependencies, operations: readonly Operation[]): Key | null {
  for (let at = 1; at < operations.length; at++) {
    const key = operations[at]?.key
    if (key !== undefined && writers.isLocked(key)) return key
  }
  return null
}

function onlyWhile({ onlyWhile }: VerbRequest, operations: readonly Operation[]): readonly Operation[] {
  if (onlyWhile === undefined) return operations
  const [first, ...rest] = operations
  if (first === undefined) return operations
  return [{ ...first, conditions: [...first.conditions, onlyWhile] }, ...rest]
}

/** Returns an error if the precondition of the caller is lost, for which a retry cannot help. */
function lostForGood({ onlyWhile, definition, target }: VerbRequest, lost: Condition): ApiError | null {
  if (lost.kind !== 'other-revision-is' || lost.key !== onlyWhile?.key) return null
  return modifiedConflict(resourceOf(definition), target.name ?? '')
}

/** Evaluates on current memory: it has everything acknowledged before the request. */
async function evaluateCurrent(
  dependencies: VerbDependencies,
  request: WriteRequest,
  evaluate: Evaluate,
  options: RetryOptions,
): Promise<Plan> {
  try {
    const plan = await evaluate(new ReadSet(dependencies))
    checkPlanQuota(dependencies, options.on ?? request, plan)
    return plan
  } catch (cause) {
    if (cause instanceof ApiError) request.admission.confirmedRefusal = cause
    throw cause
  }
}

/** Evaluates on local memory. A result that is not a write is confirmed after a barrier. */
async function evaluateConfirmed(
  dependencies: VerbDependencies,
  request: WriteRequest,
  evaluate: Evaluate,
  options: RetryOptions,
): Promise<Plan> {
  if (options.barrierFirst) {
    await passBarrier(dependencies, request)
    return evaluateCurrent(dependencies, request, evaluate, options)
  }
  const reads = new ReadSet(dependencies)
  let stands: Evaluate
  try {
    const plan = await evaluate(reads)
    if (plan.kind === 'write' && fitsQuota(dependencies, options.on ?? request, plan)) return plan
    stands = () => plan
  } catch (cause) {
    if (!(cause instanceof ApiError)) throw cause
    stands = () => {
      throw cause
    }
  }
  // A review, or a body that is invalid regardless of the state, does not depend on memory.
  const restsOnMemory = !reads.isEmpty || dependencies.definitionState !== undefined
  if (restsOnMemory) await passBarrier(dependencies, request)
  return evaluateCurrent(dependencies, request, reads.isCurrent() ? stands : evaluate, options)
}

/**
 * Makes memory current. @throws DefinitionChangedError when the definition of the kind has changed
 */
async function passBarrier(dependencies: VerbDependencies, request: WriteRequest): Promise<void> {
  await fromStore(dependencies.store.barrier(request.context.deadlineMs))
  dependencies.definitionState?.()
}

/** @throws ApiError when the write would exceed the storage quota */
function checkPlanQuota({ store }: VerbDependencies, on: VerbRequest, plan: Plan): void {
  if (plan.kind !== 'answer') checkStorageQuota(store, on, plan.operations, { dryRun: plan.kind !== 'write' })
}

function fitsQuota(dependencies: VerbDependencies, on: VerbRequest, plan: Plan): boolean {
  try {
    checkPlanQuota(dependencies, on, plan)
    return true
  } catch (cause) {
    if (cause instanceof ApiError) return false
    throw cause
  }
}

/** @throws ApiError a change was refused, or its outcome is unknown */
async function runExternalChanges(
  dependencies: VerbDependencies,
  request: WriteRequest,
  state: WriteState,
  plan: Extract<Plan, { readonly kind: 'membership-changes' }>,
): Promise<Plan> {
  const { membership } = dependencies
  if (membership === undefined) throw serviceUnavailable('this member cannot change the membership')
  // If a later change were refused, only half of the request would be done.
  if (plan.dryRun || plan.changes.length > 1) {
    for (const change of plan.changes) membership.dryRun(change)
  }
  if (plan.dryRun) return plan.next(new ReadSet(dependencies))
  for (const change of plan.changes) {
    await membership.apply(change, request.context.deadlineMs)
    state.applied = [...state.applied, change]
  }
  // Never restart from the beginning: the version that the request names precedes the changes.
  state.evaluate = plan.next
  const next = await plan.next(new ReadSet(dependencies))
  checkPlanQuota(dependencies, request, next)
  return next
}

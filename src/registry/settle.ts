import { assertNever } from '../../raft/base/assert.ts'
import { ApiError } from '../api/api-error.ts'
import { modifiedConflict, serviceUnavailable } from '../api/api-errors.ts'
import type { Condition, Operation } from '../store/command.ts'
import type { Key } from '../store/key.ts'
import type { Revision } from '../store/revision.ts'
import type { VerbRequest } from './answer.ts'
import { restingOn } from './definition-basis.ts'
import { resourceOf } from './definition.ts'
import { partlyDone } from './effects.ts'
import type { Effect } from './effects.ts'
import type { VerbParts } from './parts.ts'
import { checkRoom, sizeError } from './storage-room.ts'
import { fromStore } from './store-errors.ts'

/** What evaluating a write on this member's memory comes to. */
export type Plan<T> =
  /** Nothing to write. */
  | { readonly kind: 'answer'; readonly value: T }
  /** What would be written, and the answer to that. */
  | { readonly kind: 'dry-run'; readonly operations: readonly Operation[]; readonly value: T }
  | {
      readonly kind: 'write'
      readonly operations: readonly Operation[]
      readonly done: (revisions: readonly Revision[]) => T
    }
  /** To be asked for elsewhere, one after the other; then goes on. A dry run asks whether they would be refused. */
  | {
      readonly kind: 'effects'
      readonly effects: readonly Effect[]
      readonly dryRun: boolean
      /** What is to be written behind them, as things are now: had it no room, nothing would be asked for. */
      readonly operations: readonly Operation[]
      /** What is left to do once they have happened. Evaluated anew whenever a race for it is lost. */
      readonly next: Evaluate<T>
    }

/** On memory as it is. @throws ApiError */
export type Evaluate<T> = () => Plan<T> | Promise<Plan<T>>

export type SettleOptions = {
  /** Evaluations at most that end in a lost race. */
  readonly attemptsMax: number
  /** The object meant; whoever lost a race for it waits for their turn. null: another one each time. */
  readonly key: Key | null
  /** The error for a lost condition that another evaluation would lose again; null to try again. */
  readonly onLost?: (condition: Condition) => ApiError | null
  /** When attempts are spent. */
  readonly exhausted?: () => ApiError
}

/**
 * Evaluates a write optimistically on local memory and proposes what it comes to. A refusal or an answer
 * without a write may rest on memory that is behind, so it counts only after a read barrier and one more
 * evaluation. A proposal that lost a race was decided at a point this member has applied, which is as
 * good as a barrier.
 *
 * Effects are asked for behind a barrier too, and only once everything else of the request holds; they themselves
 * know no conditions. What fails behind them says which were made.
 *
 * @param evaluate reads the store anew each time; throws `ApiError` to refuse
 * @throws ApiError
 */
export async function settle<T>(
  parts: VerbParts,
  request: VerbRequest,
  evaluate: Evaluate<T>,
  options: SettleOptions,
): Promise<T> {
  const course: Course<T> = { evaluate, made: [] }
  try {
    return await settled(parts, request, course, options)
  } catch (cause) {
    throw partlyDone(course.made, cause)
  }
}

/** What is left to do of a request, and which of its effects were made. */
type Course<T> = { evaluate: Evaluate<T>; made: readonly Effect[] }

async function settled<T>(
  parts: VerbParts,
  request: VerbRequest,
  course: Course<T>,
  options: SettleOptions,
): Promise<T> {
  const first = await attempt(parts, request, course, options, { fresh: false })
  if (first.kind === 'settled') return first.value
  const { key } = options
  if (key !== null) await parts.turns.enter(key, request.context.deadlineMs)
  try {
    for (let lost = 1; lost < options.attemptsMax; lost++) {
      const again = await attempt(parts, request, course, options, { fresh: true })
      if (again.kind === 'settled') return again.value
    }
  } finally {
    if (key !== null) parts.turns.leave(key)
  }
  throw options.exhausted?.() ?? modifiedConflict(resourceOf(request.definition), request.target.name ?? '')
}

type Attempt<T> = { readonly kind: 'settled'; readonly value: T } | { readonly kind: 'lost' }

/** @param memory fresh: it holds everything that was acknowledged before this request came */
async function attempt<T>(
  parts: VerbParts,
  request: VerbRequest,
  course: Course<T>,
  options: SettleOptions,
  memory: { readonly fresh: boolean },
): Promise<Attempt<T>> {
  const { store } = parts
  const { deadlineMs } = request.context
  const evaluate = (): Promise<Plan<T>> => planned(parts, request, course.evaluate)
  const first = memory.fresh ? await evaluate() : await evaluateTwice(parts, request, evaluate)
  const plan = first.kind === 'effects' ? await behindEffects(parts, request, course, first) : first
  // Somebody else asked for something else meanwhile.
  if (plan.kind === 'effects') return { kind: 'lost' }
  if (plan.kind !== 'write') return { kind: 'settled', value: plan.value }
  const operations = onlyWhile(request, restingOn(plan.operations, parts.definitionNow?.()))
  const outcome = await fromStore(store.write({ kind: 'write', operations }, deadlineMs))
  switch (outcome.kind) {
    case 'done':
      return { kind: 'settled', value: plan.done(outcome.revisions) }
    case 'refused': {
      const error = options.onLost?.(outcome.condition) ?? lostForGood(request, outcome.condition)
      if (error !== null) throw error
      return { kind: 'lost' }
    }
    case 'too-large':
    case 'over-quota':
      throw sizeError(store, request, plan.operations, outcome)
    case 'nothing':
      return { kind: 'lost' }
    default:
      return assertNever(outcome)
  }
}

function onlyWhile({ onlyWhile }: VerbRequest, operations: readonly Operation[]): readonly Operation[] {
  const [first, ...rest] = operations
  if (onlyWhile === undefined || first === undefined) return operations
  return [{ ...first, conditions: [...first.conditions, onlyWhile] }, ...rest]
}

/** What the caller went by is not so any more, and never will be again. */
function lostForGood({ onlyWhile, definition, target }: VerbRequest, lost: Condition): ApiError | null {
  if (lost.kind !== 'other-revision-is' || lost.key !== onlyWhile?.key) return null
  return modifiedConflict(resourceOf(definition), target.name ?? '')
}

/** @throws ApiError also when what is to be written would have no room */
async function planned<T>(parts: VerbParts, request: VerbRequest, evaluate: Evaluate<T>): Promise<Plan<T>> {
  const plan = await evaluate()
  if (plan.kind !== 'answer') {
    checkRoom(parts.store, request, plan.operations, { dryRun: plan.kind !== 'write' })
  }
  return plan
}

/** @throws ApiError what was asked for does not happen, or nobody knows */
async function behindEffects<T>(
  parts: VerbParts,
  request: VerbRequest,
  course: Course<T>,
  plan: Extract<Plan<T>, { readonly kind: 'effects' }>,
): Promise<Plan<T>> {
  const { effects } = parts
  if (effects === undefined) throw serviceUnavailable('this member cannot change what decides these objects')
  // One that is refused behind one that was made would leave half a change.
  if (plan.dryRun || plan.effects.length > 1) {
    for (const effect of plan.effects) effects.rehearse(effect)
  }
  if (plan.dryRun) return plan.next()
  for (const effect of plan.effects) {
    await effects.perform(effect, request.context.deadlineMs)
    course.made = [...course.made, effect]
  }
  // Never from the start again: the version that the request names was that before the effects.
  course.evaluate = plan.next
  return planned(parts, request, plan.next)
}

/** Once where it comes to a write, which decides for itself; else again on memory that is surely current. */
async function evaluateTwice<T>(
  parts: VerbParts,
  request: VerbRequest,
  evaluate: Evaluate<T>,
): Promise<Plan<T>> {
  try {
    const plan = await evaluate()
    if (plan.kind === 'write') return plan
  } catch (cause) {
    if (!(cause instanceof ApiError)) throw cause
  }
  await fromStore(parts.store.barrier(request.context.deadlineMs))
  return evaluate()
}

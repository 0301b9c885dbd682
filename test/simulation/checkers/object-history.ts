import { linearizable } from '../../../tools/verify/linearizability.ts'
import type { Effect, Expectation, RegisterCall } from '../../../tools/verify/linearizability.ts'
import { isLinearizable } from '../clients/history.ts'
import type { Call, History, Request } from '../clients/history.ts'
import { Finding } from './finding.ts'

export type ObjectHistoryReport = { readonly objects: number; readonly undecided: number }

/** Enough for hundreds of calls on one object; most calls need one step. */
const stepsMax = 100_000

/**
 * I16: writes and most recent reads of each object have an order that explains every response and
 * respects real time. Checked from the observations of clients alone; only the object of a write
 * whose response with the generated name was lost is taken from the log.
 *
 * @param keyOfToken the object of a write whose response was lost; null: it never took effect
 * @throws Finding
 */
export function checkLinearizable(
  history: History,
  keyOfToken: (token: string) => string | null,
): ObjectHistoryReport {
  const byKey = registerCalls(history.calls, keyOfToken)
  let undecided = 0
  for (const [key, calls] of byKey) {
    const verdict = linearizable(calls, stepsMax)
    if (verdict.kind === 'undecided') undecided++
    if (verdict.kind !== 'not-linearizable') continue
    const state = verdict.state === null ? 'absent' : `as of write ${verdict.state}`
    const stuck = verdict.stuck.slice(0, 4).map(({ label, begin, end }) => `${label} [${begin}, ${end}]`)
    throw new Finding(
      'I16 linearizability',
      `${key} is ${state}, which does not explain: ${stuck.join('; ')}`,
    )
  }
  return { objects: byKey.size, undecided }
}

/**
 * Returns the statement of each call about each object. A call on a range states something about
 * every object in it.
 */
export function registerCalls(
  calls: readonly Call[],
  keyOfToken: (token: string) => string | null,
): Map<string, RegisterCall[]> {
  const byKey = new Map<string, RegisterCall[]>()
  const ranged: Call[] = []
  for (const call of calls) {
    if (call.request.kind === 'delete-collection' || call.request.kind === 'delete-namespace')
      ranged.push(call)
    for (const [key, effect] of effectsOf(call, keyOfToken)) {
      const list = byKey.get(key) ?? []
      byKey.set(key, list)
      // An effect that may still happen has no end, whatever its client received.
      const end = effect.kind === 'may-write' ? Infinity : call.end
      list.push({ begin: call.begin, end, effect, label: labelOf(call) })
    }
  }
  for (const [key, list] of byKey) for (const call of ranged) list.push(...removals(call, key))
  return byKey
}

function* effectsOf(
  call: Call,
  keyOfToken: (token: string) => string | null,
): Generator<readonly [string, Effect], void> {
  const { request, answer } = call
  if (request.kind === 'write-together') {
    for (const key of request.keys) {
      const write = { from: anything, to: request.token }
      if (answer.kind === 'done') yield [key, { kind: 'wrote', ...write }]
      if (answer.kind === 'unknown') yield [key, { kind: 'may-write', ...write }]
    }
    return
  }
  if (request.kind === 'get') {
    if (!isLinearizable(request.mode)) return
    if (answer.kind === 'object') yield [request.key, observed({ kind: 'is', state: answer.object.token })]
    if (isMissing(call)) yield [request.key, observed(absent)]
    return
  }
  const written = writeOf(request)
  if (written === null) return
  const { from, to } = written
  if (answer.kind === 'object' || answer.kind === 'done') {
    const key = answer.kind === 'object' ? answer.object.key : keyOf(request)
    if (key !== null) yield [key, { kind: 'wrote', from, to }]
  } else if (answer.kind === 'unknown') {
    const key = keyOf(request) ?? keyOfToken(to ?? '')
    if (key !== null) yield [key, { kind: 'may-write', from, to }]
  } else {
    const key = keyOf(request)
    const refusal = refusalOf(call)
    if (key !== null && refusal !== null) yield [key, observed(refusal)]
  }
}

/** Returns the precondition and the result of a write. */
function writeOf(request: Request): { readonly from: Expectation; readonly to: string | null } | null {
  switch (request.kind) {
    case 'create':
    case 'generate':
      return { from: absent, to: request.token }
    case 'update':
    case 'patch': {
      const { expected, token } = request
      if (expected !== null) return { from: { kind: 'is', state: expected.token }, to: token }
      return { from: request.kind === 'update' && request.creates ? anything : present, to: token }
    }
    case 'delete': {
      const { expected } = request
      return { from: expected === null ? present : { kind: 'is', state: expected.token }, to: null }
    }
    default:
      return null
  }
}

/** Returns the statement of a refusal about the object; null: none. */
function refusalOf(call: Call): Expectation | null {
  const { request, answer } = call
  if (answer.kind !== 'refused') return null
  if (isMissing(call)) return request.kind === 'create' || request.kind === 'generate' ? null : absent
  if (answer.reason === 'AlreadyExists' && request.kind === 'create') return present
  if (answer.reason !== 'Conflict') return null
  const isConditional = request.kind === 'update' || request.kind === 'patch' || request.kind === 'delete'
  // Another uid is another version too, but not the only possible one.
  if (!isConditional || request.expected === null || (request.kind === 'delete' && request.uid !== null))
    return null
  return { kind: 'other', than: request.expected.token }
}

/** Returns whether the object itself did not exist; a missing namespace does not count. */
export function isMissing({ answer }: Call): boolean {
  return answer.kind === 'refused' && answer.reason === 'NotFound' && answer.of === 'configmaps'
}

/**
 * Deleting a collection may delete each object in it, once, while the call runs; the objects of a
 * deleted namespace may be deleted later.
 */
function removals(call: Call, key: string): RegisterCall[] {
  const { request, answer } = call
  const namespace = key.slice(0, key.indexOf('/'))
  if (answer.kind === 'refused' && request.kind === 'delete-namespace') return []
  let end = call.end
  if (request.kind === 'delete-namespace') {
    if (request.namespace !== namespace) return []
    end = Infinity
  } else if (request.kind === 'delete-collection') {
    const { range } = request
    if (range.namespace !== null && range.namespace !== namespace) return []
    // A failure names the first failed object; others may be in progress.
    if (answer.kind !== 'done') end = Infinity
  } else return []
  return [
    { begin: call.begin, end, effect: { kind: 'may-write', from: present, to: null }, label: labelOf(call) },
  ]
}

export function keyOf(request: Request): string | null {
  return 'key' in request ? request.key : null
}

export function labelOf({ client, member, request, answer }: Call): string {
  const outcome = answer.kind === 'refused' ? `refused: ${answer.reason}` : answer.kind
  const shown = answer.kind === 'object' ? ` (${answer.object.token} at ${answer.object.revision})` : ''
  return `client ${client} at member ${member}: ${JSON.stringify(request)} -> ${outcome}${shown}`
}

function observed(state: Expectation): Effect {
  return { kind: 'saw', state }
}

const anything: Expectation = { kind: 'any' }
const present: Expectation = { kind: 'present' }
const absent: Expectation = { kind: 'is', state: null }

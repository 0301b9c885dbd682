import type { HistoryIndex } from './history-index.ts'
import type { Call } from './history.ts'
import { isLinearizable, isMissing } from './history.ts'
import type { Effect, Expectation, RegisterCall } from './linearizability.ts'

export type ObjectCalls = { readonly name: string; readonly calls: readonly ObjectCall[] }
/** The effect of a call on one object, and the call itself. */
export type ObjectCall = RegisterCall & { readonly call: Call }

/**
 * Yields the calls object by object, because all of them together may not fit into memory. A
 * linearizable list is a read of every object. The first page of a paged list is a read of the
 * objects up to the last name on it; later pages are left out.
 */
export function* registerCalls(index: HistoryIndex): Generator<ObjectCalls, void> {
  const byName = new Map<string, Call[]>()
  for (const name of index.objects.keys()) byName.set(name, [])
  const lists: Call[] = []
  for (const call of index.history.calls) {
    const { request, answer } = call
    if (request.kind === 'list') {
      const isBound = request.page === 0 && isLinearizable(request.mode)
      if (isBound && answer.kind === 'list') lists.push(call)
      continue
    }
    const own = byName.get(request.name)
    if (own === undefined) byName.set(request.name, [call])
    else own.push(call)
  }
  const shown = shownIn(lists)
  for (const [name, own] of byName) {
    const calls: ObjectCall[] = []
    for (const call of own) {
      const effect = effectOf(call)
      if (effect !== null) calls.push(objectCallOf(call, effect, index))
    }
    yield { name, calls: [...calls, ...listed(name, lists, shown.get(name) ?? nowhere)] }
  }
}

/** Positions of the lists that contain an object, ascending, and its token in each of them. */
type ListedPlaces = { readonly places: number[]; readonly tokens: string[] }

const nowhere: ListedPlaces = { places: [], tokens: [] }

function shownIn(lists: readonly Call[]): ReadonlyMap<string, ListedPlaces> {
  const shown = new Map<string, ListedPlaces>()
  for (const [place, { answer }] of lists.entries()) {
    if (answer.kind !== 'list') continue
    for (const { name, token } of answer.versions) {
      let of = shown.get(name)
      if (of === undefined) shown.set(name, (of = { places: [], tokens: [] }))
      of.places.push(place)
      of.tokens.push(token)
    }
  }
  return shown
}

function listed(name: string, lists: readonly Call[], { places, tokens }: ListedPlaces): ObjectCall[] {
  const given: ObjectCall[] = []
  let next = 0
  for (const [place, call] of lists.entries()) {
    const { answer, begin, end } = call
    let token: string | null = null
    // Duplicates within a list are detected by the check of lists.
    for (; places[next] === place; next++) token = tokens[next] ?? null
    if (answer.kind !== 'list') continue
    const last = answer.versions[answer.versions.length - 1]?.name
    // A page proves nothing about names after its last one.
    if (answer.more && (last === undefined || name > last)) continue
    given.push({ begin, end, effect: read(isState(token)), label: '', call })
  }
  return given
}

function objectCallOf(call: Call, effect: Effect, index: HistoryIndex): ObjectCall {
  const base = { begin: call.begin, label: '', call }
  if (effect.kind !== 'may-write') return { ...base, end: call.end, effect }
  // A write that was read later did take effect, before that read.
  const shown = effect.to === null ? null : index.firstReadAt(effect.to)
  if (shown !== null) return { ...base, end: shown, effect: { ...effect, kind: 'wrote' } }
  return { ...base, end: Infinity, effect }
}

function effectOf(call: Call): Effect | null {
  const { request, answer } = call
  if (request.kind === 'list') return null
  if (request.kind === 'get') {
    if (!isLinearizable(request.mode)) return null
    if (answer.kind === 'object') return read(isState(answer.version.token))
    return isMissing(call) ? read(absent) : null
  }
  const { from, to } = writeOf(call)
  switch (answer.kind) {
    case 'object':
    case 'deleted':
      return { kind: 'wrote', from, to }
    case 'unknown':
      return { kind: 'may-write', from, to }
    case 'refused': {
      const seen = refusalOf(call)
      return seen === null ? null : read(seen)
    }
    case 'list':
      return null
  }
}

/** Returns the precondition of a write and the resulting state. */
function writeOf({ request, answer }: Call): { readonly from: Expectation; readonly to: string | null } {
  switch (request.kind) {
    case 'create':
      return { from: absent, to: request.token }
    case 'update': {
      const { expected, token } = request
      if (expected !== null) return { from: isState(expected.token), to: token }
      // A server may create a missing object, and returns 201 then.
      if (answer.kind === 'object') return { from: answer.created ? absent : present, to: token }
      return { from: { kind: 'any' }, to: token }
    }
    case 'delete': {
      const { expected } = request
      return { from: expected === null ? present : isState(expected.token), to: null }
    }
    case 'get':
    case 'list':
      return { from: { kind: 'any' }, to: null }
  }
}

/** Returns what a rejection proves about the object; null: nothing. */
function refusalOf(call: Call): Expectation | null {
  const { request, answer } = call
  if (answer.kind !== 'refused') return null
  if (request.kind !== 'create' && isMissing(call)) return absent
  if (answer.reason === 'AlreadyExists' && request.kind === 'create') return present
  if (answer.reason !== 'Conflict' || (request.kind !== 'update' && request.kind !== 'delete')) return null
  return request.expected === null ? null : { kind: 'other', than: request.expected.token }
}

function read(state: Expectation): Effect {
  return { kind: 'saw', state }
}

function isState(state: string | null): Expectation {
  return { kind: 'is', state }
}

const present: Expectation = { kind: 'present' }
const absent: Expectation = isState(null)

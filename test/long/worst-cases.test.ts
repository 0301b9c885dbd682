/*
 * Goal: no request within the limits blocks the thread for longer than 250 ms, and no error is
 * larger than 64 KiB.
 * Method: for every kind, each list, map and string of its schema is filled with different, equal
 * or wrong values until the body reaches the limit of its size or of its number of values. The body
 * is sent to create, update and patch, as JSON, YAML and protobuf, to the verbs over the state
 * machine in memory. The test prints the ten longest turns, in processor and wall clock time, and
 * the ten largest errors. Turns of more than 250 ms are only printed, because they depend on the
 * machine. Requests with long turns are repeated, and the shortest of them counts.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { encodeProtobuf } from '../../src/api/codec/protobuf-envelope.ts'
import { ApiError } from '../../src/api/errors/api-error.ts'
import { jsonValues } from '../../src/api/codec/value-count.ts'
import { yamlText } from '../../src/api/codec/yaml-writer.ts'
import type { JsonObject, JsonObjectDraft } from '../../src/api/json.ts'
import { memberOf, objectMember } from '../../src/api/json.ts'
import { bodyLimits } from '../../src/api/limits.ts'
import { namesOf } from '../../src/api/metadata/names.ts'
import { wholeObject } from '../../src/api/schema/shared.ts'
import { statusOf } from '../../src/api/errors/status.ts'
import { limits } from '../../src/config/limits.ts'
import { apiVersionOf } from '../../src/registry/kinds/definition.ts'
import { hasProtobuf } from '../../src/registry/representations/representation.ts'
import { definitionsFor } from '../../src/resources/index.ts'
import { FullObjects } from '../support/generators/full-object.ts'
import { fillings, filledBy, placesOf } from '../support/generators/worst-bodies.ts'
import type { Filling, Place } from '../support/generators/worst-bodies.ts'
import { Fixture } from '../unit/src/registry/fixture.ts'
import type { Call } from '../unit/src/registry/fixture.ts'

const names = namesOf('k8s.io')
const ERROR_BYTES_MAX = 64 * 1024
const TURN_MS_MAX = 250
const PRINTED_MAX = 10
/** Only kinds whose name contains this. */
const only = process.env['KIND'] ?? ''
/** A part of the size limit, for a short run. */
const part = Number(process.env['PART'] ?? 1)
const bytesMax = Math.floor(limits.requestBytesMax * part)
const valuesMax = Math.floor(bodyLimits.valuesMax * part)

/**
 * A request with a longer turn is sent up to `TRIES` times in all; the shortest of its longest
 * turns counts.
 */
const LOOK_AGAIN_MS = 120
const TRIES = 4

type Turn = { readonly cpuMs: number; readonly wallMs: number }

type Seen = {
  readonly what: string
  /** The longest turn of the first request, including code and caches that were cold. */
  readonly first: Turn
  /** The least of several requests, which a busy machine disturbs less. */
  readonly least: Turn
  readonly errorBytes: number
  readonly code: string
}

/** Returns the longest turn of the event loop while something runs. */
async function longestTurn(run: () => Promise<void>): Promise<Turn> {
  let cpuMs = 0
  let wallMs = 0
  let isOver = false
  let last = process.cpuUsage()
  let lastMs = performance.now()
  const look = (): void => {
    const { user, system } = process.cpuUsage(last)
    cpuMs = Math.max(cpuMs, (user + system) / 1000)
    wallMs = Math.max(wallMs, performance.now() - lastMs)
    last = process.cpuUsage()
    lastMs = performance.now()
    if (!isOver) setImmediate(look)
  }
  setImmediate(look)
  await new Promise((resolve) => setImmediate(resolve))
  cpuMs = 0
  wallMs = 0
  await run()
  isOver = true
  look()
  return { cpuMs, wallMs }
}

async function measured(what: string, call: () => Promise<unknown>): Promise<Seen> {
  let errorBytes = 0
  let code = 'ok'
  const once = async (): Promise<Turn> =>
    longestTurn(async () => {
      try {
        await call()
      } catch (error) {
        assert.ok(error instanceof ApiError, `${what}: ${String(error)}`)
        assert.notEqual(error.code, 'InternalError', `${what}: ${error.message}`)
        code = error.code
        errorBytes = Buffer.byteLength(JSON.stringify(statusOf(error), null, 2))
      }
    })
  const first = await once()
  let least = first
  for (let tries = 1; tries < TRIES && least.cpuMs > LOOK_AGAIN_MS; tries++) {
    const { cpuMs, wallMs } = await once()
    least = { cpuMs: Math.min(cpuMs, least.cpuMs), wallMs: Math.min(wallMs, least.wallMs) }
  }
  const seen = { what, first, least, errorBytes, code }
  // Printed at once, so that an interrupted run has some results.
  if (first.cpuMs > LOOK_AGAIN_MS) console.log(`# ${lineOf(seen)}`)
  return seen
}

function lineOf({ what, first, least, errorBytes, code }: Seen): string {
  const ms = (turn: Turn): string =>
    `${turn.cpuMs.toFixed(0).padStart(4)}/${turn.wallMs.toFixed(0).padStart(4)}`
  return `${ms(least)} ms (first ${ms(first)}) ${String(errorBytes).padStart(6)} B  ${code}  ${what}`
}

/** Returns the largest body within the limits, computed from two smaller ones. */
function largest(place: Place, filling: Filling): JsonObject {
  const make = (count: number): JsonObject => filledBy(new FullObjects(names, 2), place, filling, count)
  const sizeOf = (count: number): readonly [bytes: number, values: number] => {
    const body = Buffer.from(JSON.stringify(make(count)))
    return [body.byteLength, jsonValues(body)]
  }
  const [few, many] = [sizeOf(100), sizeOf(1100)]
  const fits = (at: 0 | 1, max: number): number =>
    Math.floor((max - few[at]) / Math.max((many[at] - few[at]) / 1000, at === 0 ? 0.5 : 0))
  let count = Math.min(fits(0, bytesMax), fits(1, valuesMax))
  for (;;) {
    const [bytes, values] = sizeOf(count)
    if (bytes <= bytesMax && values <= valuesMax) break
    count = Math.floor(count * 0.95)
  }
  return make(count)
}

/**
 * Strings are only decoded and checked, so one verb is enough for them. Changes are sent with valid
 * bodies only.
 */
function* callsOf(
  place: Place,
  filling: Filling,
  body: JsonObject,
): Generator<readonly [string, 'create' | 'update' | 'patch', Call]> {
  const { definition } = place
  const kind = `${apiVersionOf(definition)}/${definition.kind}`
  const query = { dryRun: 'All' }
  const json = JSON.stringify(body)
  yield ['create, JSON', 'create', { kind, query, rawBody: json }]
  if (place.schema.type === 'string') return
  yield ['create, YAML', 'create', { kind, query, rawBody: yamlText(body), contentType: 'application/yaml' }]
  const schema = wholeObject(definition.schema)
  const message = hasProtobuf(definition) ? protobufOf(schema, body) : null
  if (message !== null) {
    yield [
      'create, protobuf',
      'create',
      { kind, query, rawBody: message, contentType: names.protobufMediaType },
    ]
  }
  if (filling !== 'distinct') return
  const { name } = body['metadata'] as { readonly name?: string }
  if (name === undefined || !definition.verbs.includes('patch')) return
  // With another uid a change is refused before anything else is checked.
  const metadata: JsonObjectDraft = { ...objectMember(body, 'metadata') }
  delete metadata['uid']
  const change = JSON.stringify({ ...body, metadata })
  yield ['update', 'update', { kind, name, query, rawBody: change }]
  for (const type of ['merge-patch', 'strategic-merge-patch']) {
    yield [type, 'patch', { kind, name, query, rawBody: change, contentType: `application/${type}+json` }]
  }
  const top = place.steps[0]
  const value = top === 'metadata' ? metadata : (memberOf(body, String(top)) ?? null)
  const rawBody = JSON.stringify([{ op: 'add', path: `/${String(top)}`, value }])
  yield ['JSON patch', 'patch', { kind, name, query, rawBody, contentType: 'application/json-patch+json' }]
}

/** @returns null for values that no message can express, such as a number that is a text */
function protobufOf(schema: ReturnType<typeof wholeObject>, body: JsonObject): Uint8Array | null {
  try {
    return encodeProtobuf(schema, body)
  } catch {
    return null
  }
}

/** Creates one object of each kind, as the target of updates and patches. */
async function createOne(api: Fixture, place: Place): Promise<void> {
  const kind = `${apiVersionOf(place.definition)}/${place.definition.kind}`
  await api.create({ kind, body: place.object }).catch((error: unknown) => {
    assert.ok(error instanceof ApiError)
  })
}

function print(t: TestContext, title: string, seen: readonly Seen[], of: (one: Seen) => number): void {
  t.diagnostic(title)
  for (const one of seen.toSorted((a, b) => of(b) - of(a)).slice(0, PRINTED_MAX)) t.diagnostic(lineOf(one))
}

void test('the largest body of each list, map and string of each kind causes no error of more than 64 KiB', async (t) => {
  const api = await Fixture.open({ domain: 'k8s.io' })
  t.after(() => api.close())
  const seenPlaces = new Set<string>()
  const seen: Seen[] = []
  for (const definition of definitionsFor(names)) {
    if (!definition.verbs.includes('create') || !definition.kind.includes(only)) continue
    for (const place of placesOf(new FullObjects(names, 1), definition, seenPlaces)) {
      await createOne(api, place)
      for (const filling of fillings) {
        const body = largest(place, filling)
        for (const [how, verb, call] of callsOf(place, filling, body)) {
          const request = api.request(call)
          seen.push(await measured(`${place.key}, ${filling}, ${how}`, () => api.registry[verb](request)))
        }
      }
    }
  }
  print(t, 'longest turns (processor/wall clock)', seen, ({ least }) => least.cpuMs)
  print(t, 'largest errors', seen, ({ errorBytes }) => errorBytes)
  const long = seen.filter(({ least }) => least.cpuMs > TURN_MS_MAX).length
  t.diagnostic(`${seen.length} requests, ${long} with a turn of more than ${TURN_MS_MAX} ms`)
  for (const { what, errorBytes } of seen) {
    assert.ok(errorBytes <= ERROR_BYTES_MAX, `${what}: an error of ${errorBytes} bytes`)
  }
})

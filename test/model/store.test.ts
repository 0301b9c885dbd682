/*
 * Goal: the store is a map that keeps its whole history: reads of the current state, reads of any
 * revision in the window, pages, watches from any revision; and the values that field selectors
 * compare are those of the objects at each revision.
 * Method: random commands (fast-check shrinks them) on the real machine with little memory, so that
 * history is read from disk, next to a model that keeps every state.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../base/random.ts'
import { namesOf } from '../../src/api/metadata/names.ts'
import { parseFieldSelector } from '../../src/api/selectors/field-selector.ts'
import { fieldValuesOf } from '../../src/registry/kinds/field-values.ts'
import { configMapDefinition } from '../../src/resources/config-map.ts'
import type { Command } from '../../src/store/command.ts'
import { StoreError } from '../../src/store/store-errors.ts'
import { prefixOf } from '../../src/store/key.ts'
import type { Key, KeyPrefix } from '../../src/store/key.ts'
import type { StoredObject, StoreEvent, WatchCursor } from '../../src/store/object-store.ts'
import { revision } from '../../src/store/revision.ts'
import { ManualClock } from '../support/fakes/manual-clock.ts'
import { openMemoryStore } from '../../fixtures/memory-store.ts'
import type { MemoryStore } from '../../fixtures/memory-store.ts'
import { randomCommand, randomKey, smallSettings } from '../../fixtures/store-commands.ts'
import { allConfigMaps, configMapsOf, decoded, encoded } from '../../fixtures/store-kit.ts'
import { tinyLimits } from '../support/fixtures/store-machines.ts'
import { NaiveStore } from './naive-store.ts'
import { drawn, fc } from '../support/generators/fast-check.ts'

const prefixes: readonly KeyPrefix[] = [
  allConfigMaps,
  configMapsOf('a'),
  configMapsOf('a-b'),
  prefixOf({ group: '', plural: 'namespaces', namespace: null }),
]

type Step =
  | { readonly kind: 'commands'; readonly seed: number; readonly count: number }
  | { readonly kind: 'shrink'; readonly seed: number; readonly count: number }
  | { readonly kind: 'disk' }
  | { readonly kind: 'read-past'; readonly seed: number }
  | { readonly kind: 'watch'; readonly seed: number }
  | { readonly kind: 'follow'; readonly limit: number }

const seed = fc.integer({ min: 0, max: 2 ** 31 })
const steps = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant('commands' as const),
        seed,
        count: fc.integer({ min: 1, max: 25 }),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('shrink' as const),
        seed,
        count: fc.integer({ min: 10, max: 60 }),
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('disk' as const) }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('read-past' as const), seed }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('watch' as const), seed }) },
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constant('follow' as const), limit: fc.integer({ min: 1, max: 20 }) }),
    },
  ),
  { minLength: 5, maxLength: 40 },
)

void test(`random use of the store agrees with the model (SEED=${drawn})`, async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (plan: readonly Step[]) => {
      const clock = new ManualClock()
      const opened = await openMemoryStore({ clock, limits: tinyLimits })
      const run = new Run(opened, clock)
      await run.start()
      for (const step of plan) await run.step(step)
      await run.end()
    }),
    { numRuns: 150 },
  )
  assert.ok(fullTimes > 100, `the quota was reached ${fullTimes} times`)
  assert.ok(ceilingTimes > 10, `the ceiling was reached ${ceilingTimes} times`)
  assert.ok(knownTimes > 1000, `a kept value was used ${knownTimes} times`)
})

let fullTimes = 0
let ceilingTimes = 0
let knownTimes = 0
const quota = 5_000

/** A reader of events, and all events it received. */
type Reader = {
  readonly prefix: KeyPrefix
  readonly cursor: WatchCursor
  readonly after: number
  events: StoreEvent[]
}

class Run {
  readonly #opened: MemoryStore
  readonly #clock: ManualClock
  readonly #model = new NaiveStore()
  #readers: Reader[] = []

  constructor(opened: MemoryStore, clock: ManualClock) {
    this.#opened = opened
    this.#clock = clock
  }

  async start(): Promise<void> {
    const settings = { ...smallSettings, objectBytesMax: 150, storageBytesMax: quota }
    for (const command of [
      { kind: 'raise-feature-level', level: 2 },
      { kind: 'change-settings', settings },
    ] as const) {
      assert.deepEqual(await this.#opened.store.write(command, 0), this.#model.apply(command))
    }
  }

  async step(step: Step): Promise<void> {
    switch (step.kind) {
      case 'commands':
        return this.#commands(new SeededRandom(step.seed), step.count)
      case 'shrink':
        return this.#shrink(new SeededRandom(step.seed), step.count)
      case 'disk':
        return this.#clock.advance(1000)
      case 'read-past':
        return this.#readPast(new SeededRandom(step.seed))
      case 'watch':
        return this.#watch(new SeededRandom(step.seed))
      case 'follow':
        return this.#follow(step.limit)
    }
  }

  async end(): Promise<void> {
    await this.#follow(1000)
    this.#compareNow()
    await this.#opened.close()
    assert.equal(this.#clock.pending, 0)
  }

  async #commands(random: SeededRandom, count: number): Promise<void> {
    for (let left = count; left > 0; left--) {
      const command = random.chance(0.03)
        ? this.#change(random)
        : randomCommand(random, this.#model.revision, 'all')
      if (command.kind !== 'expire-sessions') await this.#command(command)
    }
    this.#compareNow()
  }

  /** Draws a change of the settings, based on current or outdated ones. */
  #change(random: SeededRandom): Command {
    const settings = { ...this.#opened.store.settings, historyEventsMin: random.pick([20, 30]) }
    const expected = { ...settings, historyEventsMin: random.pick([20, 30]) }
    return { kind: 'change-settings', settings, ...(random.chance(0.7) ? { expected } : {}) }
  }

  /** Objects shrink by a few bytes at a time, which brings a full storage to its ceiling. */
  async #shrink(random: SeededRandom, count: number): Promise<void> {
    for (let left = count; left > 0; left--) {
      const objects = this.#model.at(this.#model.revision).list(allConfigMaps)
      if (objects.length === 0) break
      const { key, uid, text } = random.pick(objects)
      const letters = /x+/.exec(text)?.[0].length ?? 0
      const object = encoded('x'.repeat(Math.max(0, letters - 1)), {
        uid,
        terminating: random.chance(0.2),
        labels: null,
      })
      await this.#command({ kind: 'write', operations: [{ kind: 'put', key, conditions: [], object }] })
    }
    this.#compareNow()
  }

  async #command(command: Command): Promise<void> {
    const outcome = await this.#opened.store.write(command, 0)
    assert.deepEqual(outcome, this.#model.apply(command))
    if (outcome.kind !== 'over-quota') return
    fullTimes++
    if (outcome.bytesMax > quota) ceilingTimes++
  }

  #compareNow(): void {
    const view = this.#opened.store.view()
    assert.equal(view.revision, this.#model.revision)
    assert.equal(this.#opened.store.storage.usedBytes, this.#model.usedBytes)
    assert.equal(this.#opened.store.storage.alarm, this.#model.alarm)
    for (const prefix of prefixes) {
      const objects = this.#model.at(view.revision).list(prefix)
      const listed = view.list(prefix, { after: null, limit: null }).objects
      assertValues(listed)
      assert.deepEqual(plain(listed), objects)
      assert.equal(view.count(prefix), objects.length)
    }
  }

  async #readPast(random: SeededRandom): Promise<void> {
    const requested = revision(random.below(this.#model.revision + 2))
    const { store } = this.#opened
    if (requested > this.#model.revision) {
      assert.throws(() => store.viewAt(requested), { code: 'future' })
      return
    }
    if (requested < this.#model.trimmed) {
      assert.throws(() => store.viewAt(requested), { code: 'compacted' })
      return
    }
    const past = store.viewAt(requested)
    const model = this.#model.at(requested)
    const key = randomKey(random)
    const prefix = random.pick(prefixes)
    const limit = 1 + random.below(6)
    const got = past.get(key)
    const all = past.list(prefix, { after: null, limit: null })
    const count = past.count(prefix)
    await this.#clock.settle()
    const found = await got
    assert.deepEqual(found === null ? null : plain([found])[0], model.get(key))
    assertValues((await all).objects)
    assert.deepEqual(plain((await all).objects), model.list(prefix))
    assert.equal(await count, model.list(prefix).length)
    assert.deepEqual(await this.#pages(past, prefix, limit), model.list(prefix))
  }

  async #pages(
    past: ReturnType<MemoryStore['store']['viewAt']>,
    prefix: KeyPrefix,
    limit: number,
  ): Promise<unknown[]> {
    const found: StoredObject[] = []
    let after: Key | null = null
    for (;;) {
      const reading = past.list(prefix, { after, limit })
      await this.#clock.settle()
      const slice: Awaited<typeof reading> = await reading
      assert.ok(slice.objects.length <= limit)
      assert.ok(found.length <= 1000, 'the pages end')
      assert.ok(slice.objects.length > 0 || after === null, 'only the first of all pages may be empty')
      found.push(...slice.objects)
      if (!slice.more) return plain(found)
      assert.equal(slice.objects.length, limit)
      after = slice.objects[limit - 1]?.key ?? null
    }
  }

  #watch(random: SeededRandom): void {
    const prefix = random.pick(prefixes)
    const after = revision(random.below(this.#model.revision + 1))
    if (after < this.#model.trimmed) {
      assert.throws(() => this.#opened.store.watch(prefix, after), { code: 'compacted' })
      return
    }
    this.#readers.push({ prefix, after, cursor: this.#opened.store.watch(prefix, after), events: [] })
  }

  /** Each reader reads to the end, or fails because it lags behind the window. */
  async #follow(limit: number): Promise<void> {
    const left: Reader[] = []
    for (const reader of this.#readers) {
      try {
        for (;;) {
          const next = reader.cursor.next(limit)
          const events = next instanceof Promise ? await next : next
          if (events.length === 0) break
          reader.events.push(...events)
          assert.ok(this.#model.endsCommand(events[events.length - 1]?.revision ?? 0, reader.prefix))
        }
        assert.equal(reader.cursor.revision, this.#model.revision)
        assert.deepEqual(reader.events.map(plainEvent), this.#model.events(reader.prefix, reader.after))
        left.push(reader)
      } catch (cause) {
        if (!(cause instanceof StoreError) || cause.code !== 'compacted') throw cause
        assert.ok(reader.cursor.revision < this.#model.trimmed)
        reader.cursor.close()
      }
    }
    this.#readers = left
  }
}

const byValue = fieldValuesOf({
  ...configMapDefinition(namesOf('orch.io')),
  selectableFields: ['data.value'],
})

/** Selects each object by its value, whether that is kept or must be read, and by another value. */
function assertValues(objects: readonly StoredObject[]): void {
  for (const object of objects) {
    const { value } = decoded(object)
    for (const [selected, matches] of [
      [value, true],
      [`${value}x`, false],
    ] as const) {
      const selector = parseFieldSelector(`data.value=${selected}`, ['data.value'])
      const known = byValue.matcher(selector)(object)
      if (known !== null) knownTimes++
      assert.equal(known ?? selector.matches(byValue.reader(object)), matches)
    }
  }
}

function plain(objects: readonly StoredObject[]): unknown[] {
  return objects.map((object) => ({
    key: object.key,
    revision: object.revision,
    uid: object.uid,
    labels: object.labels,
    text: Buffer.from(object.bytes).toString('utf8'),
  }))
}

function plainEvent(event: StoreEvent): unknown {
  return {
    kind: event.kind,
    object: plain([event.object])[0],
    previous: event.previous === null ? null : plain([event.previous])[0],
  }
}

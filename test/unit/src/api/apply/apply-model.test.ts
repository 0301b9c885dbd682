/*
 * Goal: after any sequence of applies, forced applies and updates by several managers in two
 * versions, objects and owners are what the history gives: no field is lost, none comes back.
 * Method: random schemas and sequences against a model of flat paths. SEED repeats one run.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../../base/random.ts'
import { applyConfig, appliedEntry } from '../../../../../src/api/apply/apply.ts'
import { pathsOf, setOfPaths } from '../../../../../src/api/apply/field-set.ts'
import { fieldsV1Of, readFieldsV1 } from '../../../../../src/api/apply/fields-v1.ts'
import type { KindVersions } from '../../../../../src/api/apply/kind-versions.ts'
import { managedFieldsOf, readManagers, storedManagers } from '../../../../../src/api/apply/managers.ts'
import type { Managers } from '../../../../../src/api/apply/managers.ts'
import { leaf, mergeTypeOf } from '../../../../../src/api/apply/merge-type.ts'
import { trackUpdate } from '../../../../../src/api/apply/ownership.ts'
import { isJsonList, isJsonObject } from '../../../../../src/api/json.ts'
import type { Json, JsonObject } from '../../../../../src/api/json.ts'
import type { ObjectSchema, Schema } from '../../../../../src/api/schema/schema.ts'
import { rounds } from '../../../../support/fixtures/variants.ts'
import { ApplyModel, flatPaths, flatten } from '../../../../support/generators/apply-model.ts'
import { randomStruct, randomValue } from '../../../../support/generators/apply-schema.ts'

const only = process.env['SEED']
const seeds =
  only === undefined ? Array.from({ length: rounds(200, 400) }, (_, at) => at + 1) : [Number(only)]
const steps = 40
const appliers = ['p', 'q', 'r'] as const

/**
 * Returns the value as it is stored: empty structs, maps and lists are absent, but for elements of
 * maps and lists.
 */
function withoutEmpty(schema: Schema, value: Json): Json {
  if (isJsonList(value) && schema.type === 'list') {
    return value.length === 0 ? null : value.map((item) => withoutEmpty(schema.items, item) ?? {})
  }
  if (!isJsonObject(value)) return value
  const members = Object.entries(value).flatMap(([name, inside]) => {
    const left = schema.type === 'map' ? (withoutEmpty(schema.values, inside) ?? {}) : null
    const member = schema.type === 'object' ? withoutEmpty(schema.properties[name] as Schema, inside) : left
    return member === null ? [] : [[name, member] as const]
  })
  return members.length === 0 ? null : Object.fromEntries(members)
}

function objectOf(value: Json): JsonObject {
  return isJsonObject(value) ? value : {}
}

/** The members of the object have other names in `v2`. */
const newName = (name: string): string => `${name}New`
const oldName = (name: string): string => name.slice(0, -'New'.length)

function renamed<T>(
  members: { readonly [name: string]: T },
  name: (old: string) => string,
): Record<string, T> {
  return Object.fromEntries(Object.entries(members).map(([old, value]) => [name(old), value]))
}

function versionsOf(schema: ObjectSchema): KindVersions {
  const v2: ObjectSchema = { ...schema, properties: renamed(schema.properties, newName) }
  return {
    requested: 'v1',
    typeOf: (apiVersion) => mergeTypeOf(apiVersion === 'v2' ? v2 : schema),
    convert: (object, from, to) => {
      if (from === to) return object
      return to === 'v2' ? renamed(object, newName) : renamed(object, oldName)
    },
  }
}

class Run {
  readonly #schema: ObjectSchema
  readonly #versions: KindVersions
  readonly #random: SeededRandom
  readonly #model = new ApplyModel()
  #live: JsonObject = {}
  #managers: Managers = new Map()
  conflicts = 0
  applied = 0

  constructor(seed: number) {
    this.#random = new SeededRandom(seed)
    this.#schema = randomStruct(this.#random, 2)
    this.#versions = versionsOf(this.#schema)
  }

  step(): void {
    if (this.#random.below(4) === 0) this.#update()
    else this.#apply(this.#random.pick(appliers))
    this.#check()
  }

  #apply(manager: string): void {
    const config = objectOf(randomValue(this.#random, this.#schema))
    const flat = flatten(this.#schema, config)
    const writer = { manager, apiVersion: 'v1', subresource: '', time: '2026-01-01T00:00:00Z' }
    const type = mergeTypeOf(this.#schema)
    const versions = this.#versionsOf('v1')
    const entry = appliedEntry(type, config, writer)
    const application = { type, versions, config, entry, conform: this.#conform }
    const { object, managers, conflicts } = applyConfig(application, this.#live, this.#managers)
    const seen = [...conflicts.values()].flatMap((entry) => {
      const fields = fieldsV1Of(entry.fields)
      const known = entry.apiVersion === 'v2' ? renamed(fields, oldName) : fields
      return [...flatPaths(this.#schema, known)].map((path) => `${entry.manager} ${path}`)
    })
    assert.deepEqual(seen.sort(), [...this.#model.conflicts(manager, flat)].sort(), 'conflicts')
    const isForced = this.#random.below(3) === 0
    if (seen.length > 0 && !isForced) {
      this.conflicts++
      return
    }
    this.applied++
    this.#model.apply(manager, flat)
    this.#live = object
    this.#managers = managers
  }

  #update(): void {
    const next = objectOf(randomValue(this.#random, this.#schema))
    // Most updates change a part only.
    const names = Object.keys(this.#schema.properties).filter(() => this.#random.below(3) > 0)
    const kept = names.map((name) => [name, this.#live[name]] as const)
    const live = Object.fromEntries(kept.map(([name, value]) => [name, value ?? null]))
    const after = this.#conform({ ...next, ...live })
    const apiVersion = this.#random.pick(['v1', 'v2'] as const)
    const manager = `u${apiVersion}`
    const writer = { manager, apiVersion, subresource: '', time: '2026-01-01T00:00:00Z' }
    const inVersion = (object: JsonObject): JsonObject =>
      this.#versions.convert(object, 'v1', apiVersion) ?? {}
    const change = {
      ...{ type: this.#versions.typeOf(apiVersion) ?? leaf, versions: this.#versionsOf(apiVersion) },
      ...{ before: inVersion(this.#live), after: inVersion(after) },
    }
    this.#managers = trackUpdate(change, this.#managers, { writer, updatersMax: 10 })
    this.#model.update(manager, flatten(this.#schema, after))
    this.#live = after
  }

  #versionsOf(requested: string): KindVersions {
    return { ...this.#versions, requested }
  }

  readonly #conform = (object: JsonObject): JsonObject => objectOf(withoutEmpty(this.#schema, object))

  #check(): void {
    const entries = managedFieldsOf(this.#managers)
    const again = readManagers(entries)
    assert.ok(again !== null)
    assert.deepEqual(managedFieldsOf(again), entries, 'what is written is read again')
    this.#managers = this.#random.below(2) === 0 ? again : storedManagers(entries)
    const live = flatten(this.#schema, this.#live)
    assert.deepEqual([...live].sort(), [...this.#model.live].sort(), 'object')
    for (const manager of [...appliers, 'uv1', 'uv2']) {
      const entry = entries.find((one) => one['manager'] === manager)
      const fields = (entry?.['fieldsV1'] ?? {}) as JsonObject
      const known = manager === 'uv2' ? renamed(fields, oldName) : fields
      const seen = entry === undefined ? [] : [...flatPaths(this.#schema, known)]
      const owned = [...(this.#model.owners.get(manager) ?? [])]
      assert.deepEqual(seen.sort(), owned.sort(), `owner ${manager}`)
    }
  }
}

void test('spec 4.10: objects and owners follow from the history of writes', () => {
  let [conflicts, applied] = [0, 0]
  for (const seed of seeds) {
    const run = new Run(seed)
    for (let at = 0; at < steps; at++) {
      try {
        run.step()
      } catch (error) {
        const again = `SEED=${seed} node --test dist/test/unit/src/api/apply/apply-model.test.js`
        throw new Error(`step ${at}: ${(error as Error).message}\nrepeat with ${again}`, { cause: error })
      }
    }
    conflicts += run.conflicts
    applied += run.applied
  }
  if (only !== undefined) return
  assert.ok(conflicts > 1000 && applied > 1000, `${conflicts} conflicts, ${applied} applies`)
})

void test('field sets are read as they are written, and malformed ones are not', () => {
  const random = new SeededRandom(1)
  const step = (): string =>
    random.pick(['f:a', 'f:b', 'f:.', 'f:', 'k:{"name":"x","port":80}', 'v:"x"', 'v:1', 'v:null', 'i:0'])
  for (let count = 0; count < 300; count++) {
    const paths = Array.from({ length: random.below(8) }, () =>
      Array.from({ length: 1 + random.below(4) }, step),
    )
    const fields = setOfPaths(paths)
    const read = readFieldsV1(JSON.parse(JSON.stringify(fieldsV1Of(fields))) as Json)
    const texts = (of: Iterable<readonly string[]>): readonly string[] => [...of].map(String).sort()
    assert.ok(read !== null)
    assert.deepEqual(
      texts(pathsOf(read)),
      texts(new Set(paths.map(String)).size === 0 ? [] : pathsOf(fields)),
    )
  }
  const unsorted = readFieldsV1({ 'k:{"port":80,"name":"x"}': {} })
  assert.deepEqual(unsorted && [...unsorted.members], ['k:{"name":"x","port":80}'])
  const malformed: readonly Json[] = [
    ...[null, 1, [], 'f:a', { a: {} }, { 'f:a': 1 }, { 'f:a': null }, { 'x:a': {} }, { 'k:': {} }],
    ...[{ 'k:[]': {} }, { 'k:{"a":{}}': {} }, { 'v:': {} }, { 'v:{': {} }, { 'i:-1': {} }, { 'i:a': {} }],
  ]
  for (const json of malformed) assert.equal(readFieldsV1(json), null, JSON.stringify(json))
})

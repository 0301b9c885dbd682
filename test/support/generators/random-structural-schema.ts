import type { SeededRandom } from '../../../base/random.ts'
import { setMember } from '../../../src/api/json.ts'
import type { Json, JsonObject, JsonObjectDraft } from '../../../src/api/json.ts'

/**
 * Few names, so that schemas and values have common ones; some are also members of JavaScript
 * objects.
 */
const NAMES = ['a', 'b', 'c', 'metadata', 'kind', '__proto__', 'constructor'] as const
const TEXTS = ['', 'a', 'ab', 'abc', '\u{1f600}', '2026-01-02', 'constructor'] as const
const NUMBERS = [0, 1, 2, 3, -1, 1.5, 2n ** 53n, 2n ** 63n] as const

/**
 * Returns a schema of a definition, mostly structural, with rules, junctors, defaults and markers
 * of orch.io. `checkStructural` decides whether it is valid.
 */
export function randomStructural(random: SeededRandom): JsonObject {
  return { ...structOf(random, 3), type: 'object' }
}

/** Returns any value, also in place of a schema. */
export function randomGarbage(random: SeededRandom, depth = 4): Json {
  const words = [...SCHEMA_WORDS, ...NAMES]
  switch (random.below(depth > 0 ? 5 : 3)) {
    case 0:
      return randomScalar(random)
    case 1:
      return pick(random, ['object', 'array', 'string', 'integer', 'set', 'map', '(', 'a{1000}'])
    case 2:
      return random.chance(0.5)
    case 3:
      return list(random, 3, () => randomGarbage(random, depth - 1))
    default: {
      const draft: JsonObjectDraft = {}
      for (let left = random.below(6); left > 0; left--) {
        setMember(draft, pick(random, words), randomGarbage(random, depth - 1))
      }
      return draft
    }
  }
}

const SCHEMA_WORDS = [
  ...['type', 'properties', 'items', 'additionalProperties', 'default', 'nullable', 'enum', 'required'],
  ...['allOf', 'anyOf', 'oneOf', 'not', 'pattern', 'format', 'minimum', 'maximum', 'multipleOf', 'maxLength'],
  ...['maxItems', 'maxProperties', 'x-orch-list-type', 'x-orch-list-map-keys', 'x-orch-map-type'],
  ...['x-orch-embedded-resource', 'x-orch-preserve-unknown-fields', 'x-orch-int-or-string'],
]

/** Returns a value of any type, with the names and texts that the schemas use. */
export function randomValue(random: SeededRandom, depth = 4): Json {
  switch (random.below(depth > 0 ? 4 : 2)) {
    case 0:
      return randomScalar(random)
    case 1:
      return random.chance(0.3) ? null : randomScalar(random)
    case 2:
      return list(random, 4, () => randomValue(random, depth - 1))
    default: {
      const draft: JsonObjectDraft = {}
      for (let left = random.below(5); left > 0; left--) {
        setMember(draft, pick(random, NAMES), randomValue(random, depth - 1))
      }
      return draft
    }
  }
}

/** Returns a value that mostly has the types of its schema. */
export function randomValueOf(schema: JsonObject, random: SeededRandom, depth = 6): Json {
  if (depth === 0 || random.chance(0.08)) return randomValue(random, 1)
  const inside = (of: Json | undefined): Json => randomValueOf((of ?? {}) as JsonObject, random, depth - 1)
  switch (schema['type']) {
    case 'array':
      return list(random, 4, () => inside(schema['items']))
    case 'object': {
      const draft: JsonObjectDraft = {}
      const properties = (schema['properties'] ?? {}) as JsonObject
      for (const name of Object.keys(properties)) {
        if (random.chance(0.7)) setMember(draft, name, inside(properties[name]))
      }
      const additional = schema['additionalProperties']
      const others = typeof additional === 'object' || random.chance(0.2) ? random.below(3) : 0
      for (let left = others; left > 0; left--) {
        setMember(
          draft,
          pick(random, NAMES),
          typeof additional === 'object' ? inside(additional) : randomValue(random, 1),
        )
      }
      return draft
    }
    case 'string':
      return pick(random, TEXTS)
    case 'integer':
      return pick(random, NUMBERS)
    case 'number':
      return pick(random, NUMBERS)
    case 'boolean':
      return random.chance(0.5)
    default:
      return randomValue(random, 2)
  }
}

function structOf(random: SeededRandom, depth: number): JsonObject {
  const properties: JsonObjectDraft = {}
  for (let left = 1 + random.below(4); left > 0; left--) {
    const name = pick(random, depth === 3 ? ['a', 'b', 'c', 'd', '__proto__', 'constructor'] : NAMES)
    setMember(properties, name, nodeOf(random, depth - 1))
  }
  return { properties, ...rulesOf(random, Object.keys(properties)) }
}

function nodeOf(random: SeededRandom, depth: number): JsonObject {
  const schema = typedOf(random, depth)
  const nullable = random.chance(0.2) ? { nullable: true } : {}
  const filled = random.chance(0.3) ? { default: randomValueOf(schema, random, 3) } : {}
  return { ...schema, ...nullable, ...filled }
}

function typedOf(random: SeededRandom, depth: number): JsonObject {
  switch (random.below(depth > 0 ? 10 : 5)) {
    case 0:
      return { type: 'string', ...rulesOf(random, []) }
    case 1:
      return { type: 'integer', ...rulesOf(random, []) }
    case 2:
      return { type: pick(random, ['number', 'boolean']) }
    case 3:
      return { 'x-orch-int-or-string': true }
    case 4:
      return { 'x-orch-preserve-unknown-fields': true, ...(random.chance(0.5) ? { type: 'object' } : {}) }
    case 5:
      return { type: 'array', items: nodeOf(random, depth - 1), ...listOf(random) }
    case 6:
      return {
        type: 'object',
        additionalProperties: random.chance(0.8) ? nodeOf(random, depth - 1) : random.chance(0.5),
      }
    case 7:
      return {
        ...{ type: 'object', 'x-orch-embedded-resource': true, 'x-orch-preserve-unknown-fields': true },
        properties: { spec: nodeOf(random, depth - 1) },
      }
    default: {
      const keeps = random.chance(0.2) ? { 'x-orch-preserve-unknown-fields': true } : {}
      return { type: 'object', ...structOf(random, depth), ...keeps }
    }
  }
}

function listOf(random: SeededRandom): JsonObject {
  return random.chance(0.3) ? { 'x-orch-list-type': 'set' } : random.chance(0.3) ? { maxItems: 2 } : {}
}

/** @param names of the existing members */
function rulesOf(random: SeededRandom, names: readonly string[]): JsonObject {
  const one = (): JsonObject => {
    switch (random.below(8)) {
      case 0:
        return { enum: list(random, 3, () => randomScalar(random)) }
      case 1:
        return { minimum: Number(pick(random, NUMBERS)), exclusiveMinimum: random.chance(0.5) }
      case 2:
        return { maximum: Number(pick(random, NUMBERS)) }
      case 3:
        return { minLength: random.below(3), maxLength: random.below(4) }
      case 4:
        return { pattern: pick(random, ['a', '^a*$', '^.$', '[^a]']) }
      case 5:
        return { required: names.filter(() => random.chance(0.3)) }
      case 6:
        return { maxProperties: random.below(4), minProperties: random.below(2) }
      default:
        return { multipleOf: pick(random, [2, 0.5, 3]) }
    }
  }
  if (random.chance(0.5)) return {}
  switch (random.below(6)) {
    case 0:
      return { allOf: [one(), one()] }
    case 1:
      return { anyOf: [one(), one()] }
    case 2:
      return { oneOf: [one(), one()] }
    case 3:
      return { not: one() }
    default:
      return one()
  }
}

function randomScalar(random: SeededRandom): Json {
  switch (random.below(3)) {
    case 0:
      return pick(random, NUMBERS)
    case 1:
      return random.chance(0.5)
    default:
      return pick(random, TEXTS)
  }
}

function list<T>(random: SeededRandom, lengthMax: number, one: () => T): readonly T[] {
  return Array.from({ length: random.below(lengthMax) }, one)
}

function pick<T>(random: SeededRandom, from: readonly T[]): T {
  return from[random.below(from.length)] as T
}

import { Buffer } from 'node:buffer'
import { LineCounter, isNode, isScalar, parseDocument, visit } from 'yaml'
import type { Document, Tags, YAMLError } from 'yaml'
import type { ApiError } from '../errors/api-error.ts'
import { badRequest, tooLarge } from '../errors/standard-errors.ts'
import type { Json, JsonObject, JsonObjectDraft } from '../json.ts'
import { isJsonList, isJsonObject, setMember } from '../json.ts'
import { bodyLimits } from '../limits.ts'
import { listIndex, member } from '../schema/path.ts'
import type { Path } from '../schema/path.ts'
import { beyondDouble, exactNumber } from './json-exact.ts'
import { DUPLICATES_MAX, duplicateFields, duplicateFieldWords } from './json-strict.ts'
import { depthWithin, JSON_DEPTH_MAX, nameOfType, parseChecked, tooDeep } from './json.ts'
import { checkJsonValues, tooManyValues } from './value-count.ts'
import { checkYamlCost, withoutTraces } from './yaml-cost.ts'

/** Characters of the equivalent JSON, with every alias expanded. */
const EXPANDED_LENGTH_MAX = 3 * 1024 * 1024
const ALIASES_MAX = 100

export type YamlBody = {
  readonly value: JsonObject
  /** Messages about duplicate keys, of which the last one counts; at most 64. */
  readonly doubled: readonly string[]
}

/**
 * Parses a YAML body of one document, with the semantics that existing clients rely on: YAML 1.1 as
 * sigs.k8s.io/yaml reads it (`yes` is true, `0777` is octal), but without sexagesimal times and
 * tags beyond the types of JSON.
 *
 * @throws ApiError BadRequest: not YAML, several documents, not an object, too deep;
 * RequestEntityTooLarge
 */
export function parseYamlObject(text: string, valuesMax: number = bodyLimits.valuesMax): YamlBody {
  if (/^\s*\{/.test(text)) {
    checkJsonValues(Buffer.from(text), valuesMax)
    const object = tryJson(text)
    if (object !== null && hasLoneSurrogate(text)) throw unreadable(LONE_SURROGATE)
    if (object !== null) return { value: object, doubled: duplicateFields(text).map(duplicateFieldWords) }
  }
  checkYamlCost(text)
  const { value, doubled } = parse(text)
  checkExpanded(value as Json, 1, { length: 0, values: 0, valuesMax })
  if (!isJsonObject(value)) throw badRequest(`the body must be a YAML map, not ${nameOfType(value)}`)
  return { value: exactObject(value, null), doubled }
}

/**
 * Returns what `parseExactly` would for the same JSON.
 *
 * @param value with every integer as bigint
 */
function exact(value: Json, path: Path | null): Json {
  if (typeof value === 'number' || typeof value === 'bigint') {
    const double = Number(value)
    if (!Number.isFinite(double)) throw beyondDouble(String(value), path)
    return typeof value === 'number' || Number.isSafeInteger(double) ? exactNumber(double) : value
  }
  if (isJsonList(value)) return value.map((item, at) => exact(item, listIndex(path, at)))
  return isJsonObject(value) ? exactObject(value, path) : value
}

function exactObject(value: JsonObject, path: Path | null): JsonObject {
  const draft: JsonObjectDraft = {}
  for (const name of Object.keys(value)) {
    setMember(draft, name, exact(value[name] as Json, member(path, name)))
  }
  return draft
}

/** @returns null if it is not JSON; it may still be YAML */
function tryJson(text: string): JsonObject | null {
  try {
    const value = parseChecked(text)
    return isJsonObject(value) ? value : null
  } catch (cause) {
    if (cause instanceof SyntaxError) return null
    throw cause
  }
}

type Parsed = { readonly value: unknown; readonly doubled: readonly string[] }

/**
 * Parses all integers as bigint, so that none loses digits. Parsing again only for large integers
 * would double the cost.
 */
function parse(text: string): Parsed {
  const lines = new LineCounter()
  try {
    const options = {
      version: '1.1',
      merge: true,
      uniqueKeys: false,
      intAsBigInt: true,
      prettyErrors: false,
      logLevel: 'error',
      lineCounter: lines,
      customTags,
    } as const
    const document = withoutTraces(() => parseDocument(text, options))
    const wrong = [...document.errors, ...document.warnings][0]
    if (wrong !== undefined) throw unreadable(wordsOf(wrong, lines))
    checkEscapes(document, text, lines)
    const value: unknown = document.toJS({ maxAliasCount: ALIASES_MAX })
    return { value, doubled: doubledKeys(document, lines) }
  } catch (cause) {
    // Besides its own errors this library throws ReferenceError for aliases and RangeError for
    // depth.
    if (cause instanceof ReferenceError || cause instanceof RangeError) {
      throw unreadable('too many aliases or too deep')
    }
    throw cause
  }
}

/** go-yaml's words for an escape of half a surrogate pair, which UTF-8 cannot encode. */
const LONE_SURROGATE = 'found invalid Unicode character escape code'

/**
 * Returns whether a string of a JSON text has half a surrogate pair as an escape. Upstream refuses
 * it in a YAML body, although it is JSON.
 */
export function hasLoneSurrogate(json: string): boolean {
  const half = /\\u[dD][89a-fA-F]/
  if (!half.test(json)) return false
  // Pairs, and all other escapes: `\\ud800` is a backslash and five characters.
  const others = /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\(?:u(?![dD][89a-fA-F])|[^u])/g
  return half.test(json.replace(others, ''))
}

/** Only escapes can make a lone surrogate: a body is UTF-8. @throws ApiError */
function checkEscapes(document: Document, text: string, lines: LineCounter): void {
  if (!/\\[uU]/.test(text)) return
  visit(document, {
    Scalar: (_, { value, range }) => {
      if (typeof value !== 'string' || !/\p{Cs}/u.test(value)) return
      const { line, col } = lines.linePos(range?.[0] ?? 0)
      throw unreadable(`line ${line}, column ${col}: ${LONE_SURROGATE}`)
    },
  })
}

function unreadable(why: string): ApiError {
  return badRequest(`couldn't parse the body as YAML: ${why}`)
}

/**
 * The message of the library is not used: it quotes tags, aliases and values, which may be
 * passwords.
 */
function wordsOf({ code, pos }: YAMLError, lines: LineCounter): string {
  switch (code) {
    case 'MULTIPLE_DOCS':
      return 'it contains several documents; a request accepts only one'
    case 'RESOURCE_EXHAUSTION':
      return 'too deep'
    default: {
      const { line, col } = lines.linePos(pos[0])
      const what = code.toLowerCase().replaceAll('_', ' ')
      return `line ${line}, column ${col} (offset ${pos[0]}): ${what}`
    }
  }
}

/** The library's own check is quadratic, and reports duplicates as errors. */
function doubledKeys(document: Document, lines: LineCounter): readonly string[] {
  const found: { readonly line: number; readonly key: string }[] = []
  visit(document, {
    Map: (_, map) => {
      const keys = new Set<string>()
      for (const { key } of map.items) {
        const value = String(isScalar(key) ? key.value : key)
        if (keys.has(value) && value !== '<<') {
          const { line } = lines.linePos(isNode(key) ? (key.range?.[0] ?? 0) : 0)
          found.push({ line, key: value })
          if (found.length === DUPLICATES_MAX) return visit.BREAK
        }
        keys.add(value)
      }
      return undefined
    },
  })
  const inOrder = found.toSorted((a, b) => a.line - b.line)
  return inOrder.map(({ line, key }) => `line ${line}: key ${JSON.stringify(key)} already set in map`)
}

/**
 * Removes types that JSON lacks, and `1:30` as a number of seconds, which upstream's parser does
 * not support either.
 */
function customTags(tags: Tags): Tags {
  return tags.filter((tag) => {
    if (typeof tag === 'string') return true
    if (tag.tag.endsWith(':binary') || tag.tag.endsWith(':timestamp')) return false
    if (/:(?:set|omap|pairs)$/.test(tag.tag)) return false
    return !('format' in tag && tag.format === 'TIME')
  })
}

type Expanded = { length: number; values: number; readonly valuesMax: number }

/**
 * Checks the size and depth of a value. Aliases are visited each time, so the walk ends as soon as
 * a limit is exceeded.
 *
 * @throws ApiError
 */
function checkExpanded(value: Json, depth: number, seen: Expanded): void {
  seen.length += typeof value === 'string' ? value.length + 1 : 1
  if (seen.length > EXPANDED_LENGTH_MAX) throw tooLarge('the aliases of the YAML body expand too far')
  if (typeof value !== 'object' || value === null) return
  if (depth > JSON_DEPTH_MAX) throw tooDeep()
  const names = isJsonList(value) ? null : Object.keys(value)
  seen.values += Math.max(names?.length ?? Number(value.length), 1)
  if (seen.values > seen.valuesMax) throw tooManyValues('body', seen.valuesMax)
  if (isJsonList(value)) {
    for (const item of value) checkExpanded(item, depth + 1, seen)
    return
  }
  for (const name of names ?? []) {
    seen.length += name.length
    checkExpanded(value[name] as Json, depthWithin(depth, name), seen)
  }
}

import { isJsonList, isJsonObject } from '../../src/api/json.ts'
import type { Json, JsonObject } from '../../src/api/json.ts'
import type { Answer, Call, Copy, Expected, Mode, Request, RunFacts, Version, WatchEvent } from './history.ts'
import type { Side } from './sides.ts'

/** Format of history files; other formats are rejected. */
export const historyFormat = 1

/**
 * A line of a history file (JSON lines): the header first, then calls and events in the order in
 * which they ended.
 */
export type Line =
  | ({ readonly line: 'run'; readonly format: number } & RunFacts)
  | ({ readonly line: 'call' } & Call)
  | {
      readonly line: 'watch'
      readonly id: number
      readonly watcher: string
      readonly member: string
      readonly begin: number
      readonly beginMs: number
      readonly after: number
      readonly resumed: boolean
      readonly side: Side | null
    }
  | ({ readonly line: 'event'; readonly watch: number } & WatchEvent)
  | { readonly line: 'watch-end'; readonly watch: number; readonly why: string }
  | ({ readonly line: 'copy' } & Copy)
  | { readonly line: 'end'; readonly lastRevision: number | null; readonly endedMs: number }

/** Versions are arrays in the file: name, revision, uid, token, digest. */
export function writeLine(line: Line): string {
  return JSON.stringify(line, (_, value: unknown) => (isVersion(value) ? rowOf(value) : value))
}

/**
 * Validates the shape of each line, so that a damaged or foreign file is detected.
 *
 * @throws Error with the reason
 */
export class LineReader {
  readonly #versions = new Map<string, Version>()

  read(text: string): Line {
    const value = jsonOf(text)
    if (!isJsonObject(value)) throw new Error('it is not a JSON object')
    const line = textOf(value, 'line')
    switch (line) {
      case 'run':
        return { line, format: numberOf(value, 'format'), ...runOf(value) }
      case 'call':
        return { line, ...this.#call(value) }
      case 'watch':
        return {
          ...{ line, id: numberOf(value, 'id'), watcher: textOf(value, 'watcher') },
          ...{ member: textOf(value, 'member'), begin: numberOf(value, 'begin') },
          ...{ beginMs: numberOf(value, 'beginMs'), after: numberOf(value, 'after') },
          ...{ resumed: truthOf(value, 'resumed'), side: readSide(value['side'] ?? null) },
        }
      case 'event':
        return { line, watch: numberOf(value, 'watch'), ...this.#event(value) }
      case 'watch-end':
        return { line, watch: numberOf(value, 'watch'), why: textOf(value, 'why') }
      case 'copy':
        return {
          ...{ line, member: textOf(value, 'member'), revision: numberOf(value, 'revision') },
          ...{ atMs: numberOf(value, 'atMs'), digest: textOf(value, 'digest') },
          versions: listOf(value, 'versions').map((row) => this.#version(row)),
        }
      case 'end': {
        const lastRevision = value['lastRevision'] === null ? null : numberOf(value, 'lastRevision')
        return { line, lastRevision, endedMs: numberOf(value, 'endedMs') }
      }
      default:
        throw new Error(`"${line.slice(0, 40)}" is not a kind of line`)
    }
  }

  #call(value: JsonObject): Call {
    return {
      ...{ client: textOf(value, 'client'), member: textOf(value, 'member') },
      ...{ connection: numberOf(value, 'connection') },
      ...{ begin: numberOf(value, 'begin'), end: numberOf(value, 'end') },
      ...{ beginMs: numberOf(value, 'beginMs'), endMs: numberOf(value, 'endMs') },
      request: requestOf(objectOf(value, 'request')),
      answer: this.#answer(objectOf(value, 'answer')),
    }
  }

  #answer(value: JsonObject): Answer {
    const kind = textOf(value, 'kind')
    switch (kind) {
      case 'object':
        return { kind, version: this.#version(value['version']), created: truthOf(value, 'created') }
      case 'deleted':
        return { kind }
      case 'list':
        return {
          ...{ kind, revision: numberOf(value, 'revision') },
          versions: listOf(value, 'versions').map((row) => this.#version(row)),
          ...{ foreign: numberOf(value, 'foreign'), more: truthOf(value, 'more') },
          remaining: value['remaining'] === null ? null : numberOf(value, 'remaining'),
        }
      case 'refused':
        return {
          ...{ kind, code: numberOf(value, 'code'), reason: textOf(value, 'reason') },
          about: textOf(value, 'about'),
        }
      case 'unknown':
        return { kind, why: textOf(value, 'why') }
      default:
        throw new Error(`"${kind}" is not a kind of answer`)
    }
  }

  #event(value: JsonObject): WatchEvent {
    const type = textOf(value, 'type')
    const known = eventTypes.find((one) => one === type)
    if (known === undefined) throw new Error(`"${type}" is not a type of event`)
    return {
      ...{ at: numberOf(value, 'at'), atMs: numberOf(value, 'atMs'), type: known },
      ...{ revision: numberOf(value, 'revision') },
      version: value['version'] === null ? null : this.#version(value['version']),
    }
  }

  /** Returns the same object for equal versions, to save memory in long histories. */
  #version(row: Json | undefined): Version {
    if (!isJsonList(row) || row.length !== 5) throw new Error('a version is not a list of five')
    const [name, revision, uid, token, digest] = row
    if (typeof name !== 'string' || typeof revision !== 'number' || typeof uid !== 'string')
      throw new Error('a version begins with name, revision and uid')
    if (typeof token !== 'string' || typeof digest !== 'string')
      throw new Error('a version ends with token and digest')
    const key = `${revision}/${name}/${uid}/${token}/${digest}`
    let version = this.#versions.get(key)
    if (version === undefined) this.#versions.set(key, (version = { name, revision, uid, token, digest }))
    return version
  }
}

/** The parser's own message would quote the text, which may be binary. */
function jsonOf(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch (cause) {
    throw new Error('it is not JSON', { cause })
  }
}

const eventTypes = ['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'OTHER'] as const

function runOf(value: JsonObject): RunFacts {
  return {
    ...{ seed: numberOf(value, 'seed'), namespace: textOf(value, 'namespace') },
    members: listOf(value, 'members').map((name) => {
      if (typeof name !== 'string') throw new Error('members are names')
      return name
    }),
    startedMs: numberOf(value, 'startedMs'),
  }
}

function requestOf(value: JsonObject): Request {
  const kind = textOf(value, 'kind')
  switch (kind) {
    case 'create':
      return { kind, name: textOf(value, 'name'), token: textOf(value, 'token') }
    case 'update': {
      const named = { name: textOf(value, 'name'), token: textOf(value, 'token') }
      return { kind, ...named, expected: expectedOf(value) }
    }
    case 'delete':
      return { kind, name: textOf(value, 'name'), expected: expectedOf(value) }
    case 'get':
      return { kind, name: textOf(value, 'name'), mode: readMode(objectOf(value, 'mode')) }
    case 'list':
      return {
        ...{ kind, mode: readMode(objectOf(value, 'mode')) },
        limit: value['limit'] === null ? null : numberOf(value, 'limit'),
        ...{ list: numberOf(value, 'list'), page: numberOf(value, 'page') },
      }
    default:
      throw new Error(`"${kind}" is not a kind of request`)
  }
}

/** Older recordings have no sides. */
function readSide(value: Json): Side | null {
  if (value !== null && value !== 'even' && value !== 'odd') throw new Error('side is neither even nor odd')
  return value
}

function expectedOf(value: JsonObject): Expected | null {
  if (value['expected'] === null) return null
  const expected = objectOf(value, 'expected')
  return { revision: numberOf(expected, 'revision'), token: textOf(expected, 'token') }
}

function readMode(value: JsonObject): Mode {
  const kind = textOf(value, 'kind')
  switch (kind) {
    case 'most-recent':
    case 'lease':
    case 'log':
    case 'any':
      return { kind }
    case 'bounded':
      return { kind, boundMs: numberOf(value, 'boundMs') }
    case 'not-older-than':
    case 'exact':
      return { kind, revision: numberOf(value, 'revision') }
    default:
      throw new Error(`"${kind}" is not a mode`)
  }
}

function isVersion(value: unknown): value is Version {
  return typeof value === 'object' && value !== null && 'digest' in value && 'uid' in value
}

function rowOf({ name, revision, uid, token, digest }: Version): readonly (string | number)[] {
  return [name, revision, uid, token, digest]
}

function numberOf(value: JsonObject, name: string): number {
  const found = value[name]
  if (typeof found !== 'number') throw new Error(`${name} is not a number`)
  return found
}

function textOf(value: JsonObject, name: string): string {
  const found = value[name]
  if (typeof found !== 'string') throw new Error(`${name} is not a string`)
  return found
}

function truthOf(value: JsonObject, name: string): boolean {
  const found = value[name]
  if (typeof found !== 'boolean') throw new Error(`${name} is neither true nor false`)
  return found
}

function listOf(value: JsonObject, name: string): readonly Json[] {
  const found = value[name]
  if (!isJsonList(found)) throw new Error(`${name} is not a list`)
  return found
}

function objectOf(value: JsonObject, name: string): JsonObject {
  const found = value[name]
  if (!isJsonObject(found)) throw new Error(`${name} is not an object`)
  return found
}

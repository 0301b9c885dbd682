import { createHash } from 'node:crypto'
import { assertNever } from '../../base/assert.ts'
import { isJsonList, isJsonObject } from '../../src/api/json.ts'
import type { Json, JsonObject } from '../../src/api/json.ts'
import type { HttpCall, Reply } from './connection.ts'
import type { Answer, Mode, Request, Version, WatchEvent } from './history.ts'
import { sideLabel, sideOf } from './sides.ts'

/** Namespace and name prefix of the objects of this run. */
export type Place = {
  readonly namespace: string
  /** Prefix of all object names of this run; all other objects are foreign. */
  readonly prefix: string
}

/** Returns the path of the collection of ConfigMaps. */
export function collection({ namespace }: Place): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/configmaps`
}

/** Returns the HTTP request of a call. @param continueToken of a later page */
export function callRequest(request: Request, place: Place, continueToken: string | null): HttpCall {
  const all = collection(place)
  switch (request.kind) {
    case 'create':
      return { method: 'POST', path: all, body: bodyOf(request.name, request.token, null) }
    case 'update': {
      const { name, token, expected } = request
      return { method: 'PUT', path: `${all}/${name}`, body: bodyOf(name, token, expected?.revision ?? null) }
    }
    case 'delete': {
      const { name, expected } = request
      const preconditions = expected === null ? {} : { resourceVersion: String(expected.revision) }
      const options = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions }
      return { method: 'DELETE', path: `${all}/${name}`, body: JSON.stringify(options) }
    }
    case 'get': {
      // Only lists have `resourceVersionMatch`.
      const { mode } = request
      const revision = mode.kind === 'any' ? 0 : 'revision' in mode ? mode.revision : null
      const query = revision === null ? '' : `?resourceVersion=${revision}`
      return { method: 'GET', path: `${all}/${request.name}${query}`, body: null, ...headerOf(mode) }
    }
    case 'list': {
      const query = new URLSearchParams(continueToken === null ? listQuery(request.mode) : {})
      if (continueToken !== null) query.set('continue', continueToken)
      if (request.limit !== null) query.set('limit', String(request.limit))
      const words = query.toString()
      const path = words === '' ? all : `${all}?${words}`
      return { method: 'GET', path, body: null, ...headerOf(request.mode) }
    }
    default:
      return assertNever(request)
  }
}

/** Returns the `Orch-Consistency` header for modes that resourceVersion cannot express. */
export function headerOf(mode: Mode): Pick<HttpCall, 'consistency'> {
  switch (mode.kind) {
    case 'lease':
    case 'log':
      return { consistency: mode.kind }
    case 'bounded':
      return { consistency: `bounded=${mode.boundMs}` }
    case 'most-recent':
    case 'any':
    case 'not-older-than':
    case 'exact':
      return {}
  }
}

function listQuery(mode: Mode): Record<string, string> {
  switch (mode.kind) {
    case 'most-recent':
    case 'lease':
    case 'log':
    case 'bounded':
      return {}
    case 'any':
      return { resourceVersion: '0' }
    case 'not-older-than':
      return { resourceVersion: String(mode.revision), resourceVersionMatch: 'NotOlderThan' }
    case 'exact':
      return { resourceVersion: String(mode.revision), resourceVersionMatch: 'Exact' }
  }
}

function bodyOf(name: string, token: string, revision: number | null): string {
  const labels = { [sideLabel]: sideOf(token) }
  const metadata = { name, labels, ...(revision === null ? {} : { resourceVersion: String(revision) }) }
  return JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { token } })
}

/** The answer of a call, and the token of the next page. */
export type AnswerPage = { readonly answer: Answer; readonly continueToken: string | null }

export function answerOf(request: Request, reply: Reply, place: Place): AnswerPage {
  const plain = (answer: Answer): AnswerPage => ({ answer, continueToken: null })
  if (reply.kind === 'none') return plain({ kind: 'unknown', why: reply.why })
  const value = parsed(reply.body)
  if (value === null) return plain({ kind: 'unknown', why: `status ${reply.status}, not in JSON` })
  if (reply.status >= 500) return plain({ kind: 'unknown', why: `${reply.status} ${messageOf(value)}` })
  if (reply.status >= 300 || reply.status < 200) {
    const details = value['details']
    const about = isJsonObject(details) ? textOf(details['kind']) : ''
    return plain({ kind: 'refused', code: reply.status, reason: textOf(value['reason']), about })
  }
  if (request.kind === 'list') return listOf(value, place)
  if (request.kind === 'delete') {
    // With finalizers the object remains for a while; its deletion time is unknown.
    return plain(
      reply.status === 200 ? { kind: 'deleted' } : { kind: 'unknown', why: `status ${reply.status}` },
    )
  }
  const version = versionOf(value)
  if (version === null) return plain({ kind: 'unknown', why: 'the answer is not a ConfigMap with a version' })
  return plain({ kind: 'object', version, created: reply.status === 201 })
}

function listOf(value: JsonObject, { prefix }: Place): AnswerPage {
  const { metadata, items } = value
  const revision = isJsonObject(metadata) ? revisionOf(metadata) : null
  if (!isJsonObject(metadata) || !isJsonList(items) || revision === null)
    return {
      answer: { kind: 'unknown', why: 'the answer is not a list with a version' },
      continueToken: null,
    }
  const versions: Version[] = []
  let foreign = 0
  for (const item of items) {
    const version = isJsonObject(item) ? versionOf(item) : null
    if (version?.name.startsWith(prefix)) versions.push(version)
    else foreign++
  }
  const token = textOf(metadata['continue'])
  const remaining = metadata['remainingItemCount']
  const answer: Answer = {
    ...{ kind: 'list', revision, versions, foreign, more: token !== '' },
    remaining: typeof remaining === 'number' ? remaining : null,
  }
  return { answer, continueToken: token === '' ? null : token }
}

/** One line of a watch. `error` ends the watch; `code` is that of its `Status`. */
export type WatchLine =
  | ({ readonly kind: 'event' } & Omit<WatchEvent, 'at' | 'atMs'>)
  | { readonly kind: 'error'; readonly code: number; readonly why: string }

/** @returns null: the line is not a watch event */
export function watchLineOf(line: string, { prefix }: Place): WatchLine | null {
  const value = parsed(line)
  const object = value?.['object']
  if (value === null || !isJsonObject(object)) return null
  const type = textOf(value['type'])
  if (type === 'ERROR') return { kind: 'error', code: Number(object['code']), why: messageOf(object) }
  const { metadata } = object
  const revision = isJsonObject(metadata) ? revisionOf(metadata) : null
  if (revision === null) return null
  if (type === 'BOOKMARK') return { kind: 'event', type, revision, version: null }
  if (type !== 'ADDED' && type !== 'MODIFIED' && type !== 'DELETED') return null
  const version = versionOf(object)
  if (version?.name.startsWith(prefix) !== true)
    return { kind: 'event', type: 'OTHER', revision, version: null }
  return { kind: 'event', type, revision, version }
}

/** @returns null: not an object with a comparable version */
export function versionOf(object: JsonObject): Version | null {
  const { metadata, data } = object
  if (!isJsonObject(metadata)) return null
  const revision = revisionOf(metadata)
  if (revision === null) return null
  const bare = {
    ...object,
    ...{ kind: undefined, apiVersion: undefined },
    metadata: { ...metadata, resourceVersion: undefined },
  }
  return {
    ...{ name: textOf(metadata['name']), revision, uid: textOf(metadata['uid']) },
    token: isJsonObject(data) ? textOf(data['token']) : '',
    digest: digestOf(JSON.stringify(bare)),
  }
}

/** Returns a digest that is long enough to distinguish contents, but does not prevent forgery. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

/** Resource versions are opaque; without decimal numbers nothing can be ordered. */
function revisionOf(metadata: JsonObject): number | null {
  const text = textOf(metadata['resourceVersion'])
  return /^\d{1,15}$/.test(text) ? Number(text) : null
}

function parsed(text: string): JsonObject | null {
  try {
    const value = JSON.parse(text) as Json
    return isJsonObject(value) ? value : null
  } catch {
    return null
  }
}

export function messageOf(value: JsonObject): string {
  return textOf(value['message']).slice(0, 200)
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}

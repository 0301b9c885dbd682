import { ApiError } from '../../../src/api/errors/api-error.ts'
import { apiVersionOf } from '../../../src/registry/kinds/definition.ts'
import type { ResourceDefinition } from '../../../src/registry/kinds/definition.ts'
import type { VerbRequest, VerbResponse } from '../../../src/registry/calls/verb.ts'
import type { RequestContext } from '../../../src/registry/calls/request.ts'
import { StoreError } from '../../../src/store/store-errors.ts'
import { keyOf } from '../../../src/store/key.ts'
import { headerOf } from '../../../tools/verify/wire.ts'
import type { Answer, KnownVersion, Mode, Request } from './history.ts'
import type { Served } from './served.ts'
import { docOf, observedObject } from './observed-object.ts'

/** The content of a write in addition to its token. */
export type Body = {
  readonly color: string
  readonly payload: string
}

/** A response, and the start of the next page. */
export type Performed = {
  readonly answer: Answer
  readonly continueToken: string | null
}

/** The fields of a request that the history does not keep. */
export type Extra = { readonly body: Body; readonly continueToken: string | null }

/** Makes one request with the verbs of a process. @throws what the verb throws */
export async function perform(
  served: Served,
  context: RequestContext,
  request: Request,
  extra: Extra,
): Promise<Performed> {
  if (request.kind === 'write-together') {
    return { answer: await writeTogether(served, context, request, extra.body), continueToken: null }
  }
  const { verb, ...requested } = verbOf(served, request, extra)
  const answer = await served.registry[verb]({ ...requested, context })
  if (request.kind === 'list') return listed(await bytesOf(answer))
  const doc = docOf(await bytesOf(answer))
  const isObject = doc.kind === 'ConfigMap'
  return {
    answer:
      isObject && request.kind !== 'delete'
        ? { kind: 'object', object: observedObject(doc) }
        : { kind: 'done', revisions: [] },
    continueToken: null,
  }
}

/** Returns the effect of a failed call. @throws errors that a client must never receive */
export function answerOf(cause: unknown): Answer {
  if (cause instanceof ApiError) {
    const isUnknown = cause.message.includes('the outcome is unknown')
    return isUnknown
      ? { kind: 'unknown' }
      : { kind: 'refused', reason: cause.code, of: cause.details.kind ?? '' }
  }
  if (cause instanceof StoreError) {
    return cause.applied === 'unknown' ? { kind: 'unknown' } : { kind: 'refused', reason: cause.code, of: '' }
  }
  throw cause
}

export function queryOfMode(mode: Mode): [string, string][] {
  switch (mode.kind) {
    case 'most-recent':
    case 'lease':
    case 'log':
    case 'bounded':
      return []
    case 'any':
      return [['resourceVersion', '0']]
    case 'not-older-than':
      return [
        ['resourceVersion', String(mode.revision)],
        ['resourceVersionMatch', 'NotOlderThan'],
      ]
    case 'exact':
      return [
        ['resourceVersion', String(mode.revision)],
        ['resourceVersionMatch', 'Exact'],
      ]
  }
}

export function definitionOf(served: Served, plural: string): ResourceDefinition {
  const definition = served.registry.catalog.find('', 'v1', plural)
  if (definition === null) throw new Error(`${plural} are not served`)
  return definition
}

export function targetOf(namespace: string | null, name: string | null): VerbRequest['target'] {
  return { namespace, name, subresource: null }
}

type Verb = 'create' | 'update' | 'patch' | 'delete' | 'deleteCollection' | 'get' | 'list'
type HttpCall = Omit<VerbRequest, 'context'> & { readonly verb: Verb }
type Plain = Omit<HttpCall, 'verb' | 'target'>

/** Returns the call of a verb, with the query and body that a client would send. */
function verbOf(
  served: Served,
  request: Exclude<Request, { readonly kind: 'write-together' }>,
  extra: Extra,
): HttpCall {
  const plain = {
    definition: definitionOf(served, 'configmaps'),
    query: new Map<string, readonly string[]>(),
    body: new Uint8Array(0),
    contentType: '',
  }
  switch (request.kind) {
    case 'create':
    case 'generate':
      return creation(plain, request, extra)
    case 'update':
      return replacement(plain, request, extra)
    case 'patch':
      return mergePatch(plain, request, extra)
    case 'delete':
      return deletion(plain, request)
    case 'delete-collection': {
      const { namespace, color } = request.range
      const query = queryOf(selector(color))
      return { verb: 'deleteCollection', ...plain, target: targetOf(namespace, null), query }
    }
    case 'create-namespace':
    case 'delete-namespace':
      return ofNamespace({ ...plain, definition: definitionOf(served, 'namespaces') }, request)
    case 'get': {
      const { namespace, name } = split(request.key)
      // `resourceVersionMatch` is only for lists.
      const query = queryOf(queryOfMode(request.mode).filter(([key]) => key === 'resourceVersion'))
      const target = targetOf(namespace, name)
      return { verb: 'get', ...plain, target, query, ...headerOf(request.mode) }
    }
    case 'list': {
      const target = targetOf(request.range.namespace, null)
      const query = listQuery(request, extra.continueToken)
      return { verb: 'list', ...plain, target, query, ...headerOf(request.mode) }
    }
  }
}

type Of<Kind extends Request['kind']> = Extract<Request, { readonly kind: Kind }>

function creation(plain: Plain, request: Of<'create'> | Of<'generate'>, { body }: Extra): HttpCall {
  const isNamed = request.kind === 'create'
  const namespace = isNamed ? split(request.key).namespace : request.namespace
  const metadata = isNamed ? { name: split(request.key).name } : { generateName: request.prefix }
  const object = objectOf(plain.definition, metadata, request.token, body)
  return { verb: 'create', ...plain, target: targetOf(namespace, null), ...json(object) }
}

function replacement(plain: Plain, request: Of<'update'>, { body }: Extra): HttpCall {
  const { namespace, name } = split(request.key)
  const metadata = { name, ...versionOf(request.expected) }
  const object = objectOf(plain.definition, metadata, request.token, body)
  return { verb: 'update', ...plain, target: targetOf(namespace, name), ...json(object) }
}

function mergePatch(plain: Plain, request: Of<'patch'>, { body }: Extra): HttpCall {
  const { namespace, name } = split(request.key)
  const { color, payload } = body
  const metadata = { labels: { color }, ...versionOf(request.expected) }
  const patch = json({ metadata, data: { token: request.token, payload } })
  const contentType = 'application/merge-patch+json'
  return { verb: 'patch', ...plain, target: targetOf(namespace, name), ...patch, contentType }
}

function deletion(plain: Plain, request: Of<'delete'>): HttpCall {
  const { namespace, name } = split(request.key)
  const { uid, expected } = request
  const preconditions = { ...(uid === null ? {} : { uid }), ...versionOf(expected) }
  const options = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions }
  return { verb: 'delete', ...plain, target: targetOf(namespace, name), ...json(options) }
}

function ofNamespace(plain: Plain, request: Of<'create-namespace'> | Of<'delete-namespace'>): HttpCall {
  const { definition } = plain
  const { kind, namespace: name } = request
  if (kind === 'delete-namespace') return { verb: 'delete', ...plain, target: targetOf(null, name) }
  const object = { kind: definition.kind, apiVersion: apiVersionOf(definition), metadata: { name } }
  return { verb: 'create', ...plain, target: targetOf(null, null), ...json(object) }
}

function listQuery(request: Of<'list'>, continueToken: string | null): VerbRequest['query'] {
  const { range, mode, limit } = request
  const start: [string, string][] = continueToken === null ? queryOfMode(mode) : [['continue', continueToken]]
  const limited: [string, string][] = limit === null ? [] : [['limit', String(limit)]]
  return queryOf([...start, ...limited, ...selector(range.color)])
}

function versionOf(expected: KnownVersion | null): { readonly resourceVersion?: string } {
  return expected === null ? {} : { resourceVersion: String(expected.revision) }
}

function json(value: object): { readonly body: Uint8Array; readonly contentType: string } {
  return { body: Buffer.from(JSON.stringify(value)), contentType: 'application/json' }
}

export function selector(color: string | null): [string, string][] {
  return color === null ? [] : [['labelSelector', `color=${color}`]]
}

export function queryOf(pairs: readonly [string, string][]): Map<string, readonly string[]> {
  return new Map(pairs.map(([key, value]) => [key, [value]]))
}

export function split(key: string): { readonly namespace: string; readonly name: string } {
  const [namespace = '', name = ''] = key.split('/')
  return { namespace, name }
}

function objectOf(definition: ResourceDefinition, metadata: object, token: string, body: Body): object {
  return {
    kind: definition.kind,
    apiVersion: apiVersionOf(definition),
    metadata: { ...metadata, labels: { color: body.color } },
    data: { token, payload: body.payload },
  }
}

async function bytesOf(answer: VerbResponse): Promise<Uint8Array> {
  if (answer.kind === 'document') return answer.bytes
  if (answer.kind !== 'pieces') throw new Error('a watch is not one document')
  const pieces: Uint8Array[] = []
  for await (const piece of answer.pieces as AsyncIterable<Uint8Array>) pieces.push(piece)
  return Buffer.concat(pieces)
}

function listed(bytes: Uint8Array): Performed {
  const { metadata, items } = docOf(bytes)
  const continueToken = metadata?.continue ?? null
  const answer: Answer = {
    kind: 'list',
    revision: Number(metadata?.resourceVersion),
    objects: (items ?? []).map(observedObject),
    more: continueToken !== null,
    remaining: metadata?.remainingItemCount ?? null,
  }
  return { answer, continueToken }
}

/**
 * Writes to the store directly, because no verb writes two objects at once. There are no
 * conditions: the last write wins.
 */
async function writeTogether(
  served: Served,
  context: RequestContext,
  request: Extract<Request, { readonly kind: 'write-together' }>,
  body: Body,
): Promise<Answer> {
  const operations = request.keys.map((key) => {
    const { namespace, name } = split(key)
    const head = '{"kind":"ConfigMap","apiVersion":"v1",'
    const before = `${head}"metadata":{"name":"${name}","namespace":"${namespace}","resourceVersion":"`
    const data = JSON.stringify({ token: request.token, payload: body.payload })
    const uid = `${request.token}-${name}`
    const after = `","uid":"${uid}","labels":{"color":"${body.color}"}},"data":${data}}`
    return {
      kind: 'put' as const,
      key: keyOf({ group: '', plural: 'configmaps', namespace, name }),
      conditions: [],
      object: {
        bytes: Buffer.from(before + after),
        revisionOffset: before.length,
        itemOffset: head.length,
        uid,
        terminating: false,
        labels: { color: body.color },
      },
    }
  })
  const outcome = await served.store.write({ kind: 'write', operations }, context.deadlineMs)
  return outcome.kind === 'done'
    ? { kind: 'done', revisions: outcome.revisions }
    : { kind: 'refused', reason: outcome.kind, of: '' }
}

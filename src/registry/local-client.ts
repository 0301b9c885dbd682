import { assert } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import { ApiError } from '../api/errors/api-error.ts'
import { jsonText } from '../api/codec/json-text.ts'
import { parseOwnJson } from '../api/codec/json.ts'
import { isJsonList, isJsonObject, memberOf } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import type { ObjectMeta, UserInfo } from '../api/metadata/object.ts'
import type { OtherRevision } from '../store/command.ts'
import type { VerbResponse, Registry, VerbRequest } from './calls/verb.ts'
import type { AnyObject, ResourceDefinition } from './kinds/definition.ts'
import type { Propagation } from './calls/delete-options.ts'
import { ownUserAgent } from './calls/own-user-agent.ts'
import type { Target } from './calls/request.ts'

export type LocalClientOptions = {
  readonly registry: Registry
  readonly clock: Clock
  /** User of these calls, as admission sees it. They are not audited. */
  readonly user: UserInfo
  /** Timeout of one call. */
  readonly timeoutMs: number
}

export type DeletionOptions = {
  /** The treatment of the dependents. */
  readonly propagationPolicy?: Propagation
  readonly gracePeriodSeconds?: number
}

/**
 * The server's own calls of its verbs: the same path as those of clients, without HTTP and
 * authorization.
 */
export class LocalClient {
  readonly #options: LocalClientOptions

  constructor(options: LocalClientOptions) {
    this.#options = options
  }

  /** Reads the most recent state. @returns null when there is no such object */
  async get(definition: ResourceDefinition, target: Target): Promise<AnyObject | null> {
    try {
      const answer = await this.#options.registry.get(this.#request(definition, target))
      return objectOf(answer)
    } catch (cause) {
      if (cause instanceof ApiError && cause.code === 'NotFound') return null
      throw cause
    }
  }

  /**
   * Returns at most `limit` objects, or all if the operator has disabled paging, and whether there
   * are more.
   *
   * @param namespace null: all namespaces, or a cluster-scoped kind
   */
  async list(
    definition: ResourceDefinition,
    namespace: string | null,
    limit: number,
  ): Promise<{ readonly objects: readonly JsonObject[]; readonly more: boolean }> {
    const target = { namespace, name: null, subresource: null }
    const query = new Map([['limit', [String(limit)]]])
    const answer = await this.#options.registry.list({ ...this.#request(definition, target), query })
    assert(answer.kind === 'pieces', 'a list is returned in pieces')
    const pieces: Uint8Array[] = []
    for await (const piece of answer.pieces) pieces.push(piece)
    const list = parseOwnJson(Buffer.concat(pieces).toString('utf8'))
    assert(isJsonObject(list), 'a list is an object')
    const items = memberOf(list, 'items')
    const metadata = memberOf(list, 'metadata')
    return {
      objects: isJsonList(items) ? items.filter(isJsonObject) : [],
      more: isJsonObject(metadata) && memberOf(metadata, 'continue') !== undefined,
    }
  }

  /**
   * @param namespace null: a cluster-scoped kind
   * @param onlyWhile see `VerbRequest`
   */
  async create(
    definition: ResourceDefinition,
    namespace: string | null,
    object: AnyObject,
    onlyWhile?: OtherRevision,
  ): Promise<AnyObject> {
    const target = { namespace, name: null, subresource: null }
    const request = {
      ...this.#request(definition, target),
      ...jsonBody(object),
      ...(onlyWhile === undefined ? {} : { onlyWhile }),
    }
    return objectOf(await this.#options.registry.create(request))
  }

  /** @param onlyWhile see `VerbRequest` */
  async update(
    definition: ResourceDefinition,
    target: Target,
    object: AnyObject,
    onlyWhile?: OtherRevision,
  ): Promise<AnyObject> {
    const request = {
      ...this.#request(definition, target),
      ...jsonBody(object),
      ...(onlyWhile === undefined ? {} : { onlyWhile }),
    }
    return objectOf(await this.#options.registry.update(request))
  }

  /**
   * Deletes the version of the object that the caller has seen. If there is a newer version, the
   * deletion fails with `Conflict`.
   *
   * @param options unset members: the defaults
   * @param onlyWhile see `VerbRequest`
   */
  async delete(
    definition: ResourceDefinition,
    target: Target,
    seen: { readonly metadata: Pick<ObjectMeta, 'uid' | 'resourceVersion'> },
    options: DeletionOptions = {},
    onlyWhile?: OtherRevision,
  ): Promise<void> {
    const { uid = '', resourceVersion = '' } = seen.metadata
    const preconditions = { uid, resourceVersion }
    const body = { ...options, kind: 'DeleteOptions', apiVersion: 'v1', preconditions }
    await this.#options.registry.delete({
      ...this.#request(definition, target),
      ...jsonBody(body),
      ...(onlyWhile === undefined ? {} : { onlyWhile }),
    })
  }

  /**
   * Deletes all objects. Their dependents are deleted in the background.
   *
   * @param namespace as in `list`
   * @param onlyWhile precondition of each deletion; see `VerbRequest`
   */
  async deleteCollection(
    definition: ResourceDefinition,
    namespace: string | null,
    onlyWhile: OtherRevision,
  ): Promise<void> {
    const target = { namespace, name: null, subresource: null }
    const body = { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Background' }
    await this.#options.registry.deleteCollection({
      ...this.#request(definition, target),
      ...jsonBody(body),
      onlyWhile,
    })
  }

  #request(definition: ResourceDefinition, target: Target): VerbRequest {
    const { clock, timeoutMs, user } = this.#options
    return {
      definition,
      context: {
        user,
        userAgent: ownUserAgent,
        deadlineMs: clock.monotonicMs() + timeoutMs,
        signal: neverAborted,
        isInternal: true,
        warn: () => undefined,
      },
      target,
      query: noQuery,
      body: noBody,
      contentType: '',
    }
  }
}

const neverAborted = new AbortController().signal
const noQuery: ReadonlyMap<string, readonly string[]> = new Map()
const noBody = new Uint8Array(0)

function jsonBody(value: JsonObject): Pick<VerbRequest, 'body' | 'contentType'> {
  return { body: Buffer.from(jsonText(value)), contentType: 'application/json' }
}

function objectOf(answer: VerbResponse): AnyObject {
  assert(answer.kind === 'document', 'this verb returns a document')
  const { buffer, byteOffset, byteLength } = answer.bytes
  const value = parseOwnJson(Buffer.from(buffer, byteOffset, byteLength).toString('utf8'))
  assert(isJsonObject(value) && isJsonObject(value['metadata']), 'this verb returns an object')
  return value as AnyObject
}

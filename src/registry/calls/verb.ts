import type { ApiError } from '../../api/errors/api-error.ts'
import type { OtherRevision } from '../../store/command.ts'
import type { AdmissionContext } from './admission-context.ts'
import type { Catalog } from '../kinds/catalog.ts'
import type { RequestContext, Target } from './request.ts'
import type { AnyObject, BodyKind, ResourceDefinition } from '../kinds/definition.ts'
import type { CatalogSync } from '../kinds/catalog-sync.ts'
import type { Representation } from '../representations/representation.ts'

/** The request of a verb. Query and body are not parsed yet: each verb parses what it supports. */
export type VerbRequest = {
  readonly definition: ResourceDefinition
  readonly context: RequestContext
  readonly target: Target
  /** Decoded query parameters; a name may repeat. */
  readonly query: ReadonlyMap<string, readonly string[]>
  /** As sent; empty when absent. Only read after authorization. */
  readonly body: Uint8Array
  /** Lower-case, without parameters; empty when the request had none. */
  readonly contentType: string
  /**
   * Header `Orch-Consistency` of a get, list or watch, as sent. Unset: absent; writes ignore it.
   */
  readonly consistency?: string
  /**
   * Header `Idempotency-Key` of a write. Unset: absent. Reads, dry runs, and creates that store
   * nothing, such as reviews, ignore it.
   */
  readonly idempotencyKey?: string
  /** Requested form of the response; only its encoding applies to a `Status`. Unset: as stored. */
  readonly representation?: Representation
  /**
   * Precondition of the server's own writes: if it does not hold, the write fails with `Conflict`.
   * Unset: none.
   */
  readonly onlyWhile?: OtherRevision
}

/** Request of a verb that writes. */
export type WriteRequest = VerbRequest & { readonly admission: AdmissionContext }

/** Response to the client: encoded bytes. */
export type VerbResponse =
  /** An object or a `Status`. */
  | {
      readonly kind: 'document'
      readonly code: 200 | 201 | 202
      readonly bytes: Uint8Array
      readonly isStatus?: true
    }
  /** A list in pieces of about 64 KiB, pulled only as fast as the client reads. */
  | {
      readonly kind: 'pieces'
      readonly code: 200
      readonly pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>
    }
  | { readonly kind: 'watch'; readonly stream: WatchStream }

/**
 * A watch, pulled by its connection. Each piece holds whole events: JSON followed by a newline,
 * YAML documents that begin with `---`, or protobuf messages prefixed with their length. An ERROR
 * event may be the last one. The stream ends at its timeout.
 */
export interface WatchStream {
  /**
   * Returns the bytes to send now; empty when there is nothing to send (then call `onMore`). null:
   * the stream has ended.
   */
  next(): Uint8Array | null | Promise<Uint8Array | null>
  /** Calls `wake` once, when `next` may have something. */
  onMore(wake: () => void): void
  /** Closes the watch after an error. @returns the final ERROR event */
  fail(error: ApiError): Uint8Array
  /** Called when the client disconnected or the server drains. */
  close(): void
}

/** One verb, generic over kinds. Throws `ApiError`. */
export type VerbHandler = (request: VerbRequest) => Promise<VerbResponse>

/**
 * The interface of this module: the server looks up the definition in the catalog and calls the
 * verb.
 */
export type Registry = {
  readonly catalog: Catalog
  /** Awaited before an unknown kind is reported. null: the set of kinds is fixed. */
  readonly catalogSync: Pick<CatalogSync, 'waitUntilCurrent'> | null
  /**
   * Returns the stored bytes of a target, to estimate the work of a request; null: no such object.
   */
  readonly storedBytes?: (definition: ResourceDefinition, target: Target) => Uint8Array | null
  readonly get: VerbHandler
  readonly list: VerbHandler
  readonly watch: VerbHandler
  readonly create: VerbHandler
  readonly update: VerbHandler
  readonly patch: VerbHandler
  readonly delete: VerbHandler
  readonly deleteCollection: VerbHandler
  /** Unset: this registry has no objects to connect to. */
  readonly connect?: ConnectHandler
}

/** The options of a connection: query parameters as an object. */
export type ConnectOptions = { readonly kind: BodyKind; readonly object: AnyObject }

/** The options and objects of a connection. */
export type Connecting = {
  /** The options as admission left them; null: connections of this kind are not admitted. */
  readonly options: AnyObject | null
  /**
   * Returns an object of the core group, as the most recent state has it.
   *
   * @param namespace null: a cluster-scoped kind
   * @throws ApiError `NotFound`
   */
  readonly find: (plural: string, namespace: string | null, name: string) => AnyObject
}

/**
 * Admits a connection to an object, and then reads the most recent state.
 *
 * @param options null: the connection is a read, such as that of logs. @throws ApiError
 */
export type ConnectHandler = (request: VerbRequest, options: ConnectOptions | null) => Promise<Connecting>

import type { ApiError } from '../../api/errors/api-error.ts'
import type { OtherRevision } from '../../store/command.ts'
import type { AdmissionContext } from './admission-context.ts'
import type { Catalog } from '../kinds/catalog.ts'
import type { RequestContext, Target } from './request.ts'
import type { ResourceDefinition } from '../kinds/definition.ts'
import type { CatalogSync } from '../kinds/catalog-sync.ts'
import type { Representation } from '../representations/representation.ts'

/** What a verb was asked with, besides who and what: still raw, each verb parses what it knows. */
export type VerbRequest = {
  readonly definition: ResourceDefinition
  readonly context: RequestContext
  readonly target: Target
  /** Decoded query parameters; a name may repeat. */
  readonly query: ReadonlyMap<string, readonly string[]>
  /** As sent; empty when there was none. Only read after authorization. */
  readonly body: Uint8Array
  /** Lower-case, without parameters; empty when the request had none. */
  readonly contentType: string
  /**
   * The header `Orch-Consistency` of a get, list or watch, as sent. Unset: there was none; a write
   * has no use for it.
   */
  readonly consistency?: string
  /**
   * How the answer is wanted. A `Status` only takes its encoding. Unset: as the objects are stored.
   */
  readonly representation?: Representation
  /**
   * Of the server's own writes: they are made only while that holds, else it is a `Conflict`.
   * Unset: whatever it is.
   */
  readonly onlyWhile?: OtherRevision
}

/** A request of a verb that writes. */
export type WriteRequest = VerbRequest & { readonly admission: AdmissionContext }

/** What goes back to the client: bytes that are ready to send. */
export type VerbResponse =
  /** An object or a `Status`. */
  | {
      readonly kind: 'document'
      readonly code: 200 | 201 | 202
      readonly bytes: Uint8Array
      readonly isStatus?: true
    }
  /** A list, in pieces of about 64 KiB; pulled only as fast as the client reads. */
  | {
      readonly kind: 'pieces'
      readonly code: 200
      readonly pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>
    }
  | { readonly kind: 'watch'; readonly stream: WatchStream }

/**
 * A watch, pulled by the connection that carries it. Each piece holds whole events: JSON with a
 * newline behind each, YAML documents with `---` in front, or messages of protobuf with their
 * length in front. An ERROR event may be the last one. Ends by itself at its timeout.
 */
export interface WatchStream {
  /**
   * What can be sent now; empty when there is nothing (then `onMore`). null: the stream has ended.
   */
  next(): Uint8Array | null | Promise<Uint8Array | null>
  /** Calls `wake` once, when `next` may have something. */
  onMore(wake: () => void): void
  /** Closes it because it cannot go on. @returns the last event, which says why */
  fail(error: ApiError): Uint8Array
  /** The client left or the server drains. */
  close(): void
}

/** One verb, generic over kinds. Throws `ApiError`. */
export type VerbHandler = (request: VerbRequest) => Promise<VerbResponse>

/** The door of this room: the server finds the definition in the catalog and calls the verb. */
export type Registry = {
  readonly catalog: Catalog
  /** Asked before a kind is said not to be there. null: none comes while the server runs. */
  readonly catalogSync: Pick<CatalogSync, 'waitUntilCurrent'> | null
  /**
   * The object of a target as this member has it, for whoever wonders how much work it is; null:
   * there is none.
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
}

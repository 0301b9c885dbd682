import { ApiError } from '../api/errors/api-error.ts'
import type { Encoding } from '../api/codec/document.ts'
import { ENCODINGS_SERVED, JSON_SERVED, negotiate } from '../api/media-type.ts'
import { namesOf } from '../api/metadata/names.ts'
import { hasProtobuf, STORED_FORM } from '../registry/representations/representation.ts'
import type { Representation } from '../registry/representations/representation.ts'
import type { ResourceDefinition, Verb } from '../registry/kinds/definition.ts'
import { readIncludeObject } from '../registry/calls/query-options.ts'
import type { Query } from '../registry/calls/query-options.ts'

/** How an answer is written, and what its `Content-Type` says. */
export type Wanted = { readonly encoding: Encoding; readonly contentType: string }

/** How the objects of an answer are wanted. */
export type WantedObjects = { readonly representation: Representation; readonly contentType: string }

/** What most requests say, spared the parsing. */
const PLAIN: ReadonlySet<string> = new Set(['', '*/*', 'application/json', 'application/json, */*'])
const JSON_WANTED: Wanted = { encoding: 'json', contentType: 'application/json' }

/** @throws ApiError `NotAcceptable` when the client takes no plain JSON */
export function mustAcceptJson(header: string | undefined): void {
  if (header !== undefined && !PLAIN.has(header)) negotiate(header, JSON_SERVED)
}

/**
 * How a document is wanted that has all encodings.
 *
 * @throws ApiError `NotAcceptable`
 */
export function encodingWanted(header: string | undefined): Wanted {
  if (header === undefined || PLAIN.has(header)) return JSON_WANTED
  const { type, encoding } = negotiate(header, ENCODINGS_SERVED)
  return { encoding, contentType: type }
}

/** How an error is told: as JSON to whoever cannot be told otherwise. */
export function errorEncodingWanted(header: string | undefined): Wanted {
  try {
    return encodingWanted(header)
  } catch (cause) {
    if (cause instanceof ApiError) return JSON_WANTED
    throw cause
  }
}

type Written = (typeof ENCODINGS_SERVED)[number]

type Offer = Written & {
  /** Unset: whole objects. */
  readonly as?: 'table' | 'partial'
  /** Of the shape, as the client named it. */
  readonly apiVersion?: string
}

/**
 * How the objects of an answer are wanted.
 *
 * @throws ApiError `NotAcceptable`; `BadRequest` for a table with parameters it cannot have
 * @source spec 4.7
 */
export function representationWanted(
  header: string | undefined,
  verb: Verb,
  definition: ResourceDefinition,
  query: Query,
): WantedObjects {
  if (header === undefined || PLAIN.has(header)) return STORED_WANTED
  const offers = OFFERS[verb === 'list' ? 'list' : 'one'][hasProtobuf(definition) ? 'all' : 'text']
  // What is asked and not stored has no columns. @source apiserver, AllowsMediaTypeTransform
  const served = definition.review === undefined ? offers : offers.filter(({ as }) => as !== 'table')
  const offer = negotiate(header, served)
  // As upstream: streams of JSON are called like JSON.
  const streamed = verb === 'watch' && offer.encoding !== 'json'
  return {
    representation: representationOf(offer, query),
    contentType: streamed ? `${offer.type};stream=watch` : offer.type,
  }
}

const STORED_WANTED: WantedObjects = { representation: STORED_FORM, contentType: JSON_WANTED.contentType }

function representationOf({ as, encoding, apiVersion = '' }: Offer, query: Query): Representation {
  if (as === undefined) return { as: 'object', encoding }
  if (as === 'partial' || encoding === 'protobuf') return { as: 'partial', encoding, apiVersion }
  return { as, encoding, shape: { apiVersion, includeObject: readIncludeObject(query) } }
}

/** What a client may call the group of such shapes. */
const SHAPE_VERSIONS = (['orch.io', 'k8s.io'] as const).flatMap((domain) =>
  ['v1', 'v1beta1'].map((v) => ({ g: namesOf(domain).group('meta'), v })),
)

function shaped(written: readonly Written[], as: 'table' | 'partial', kind: string): readonly Offer[] {
  return written.flatMap((one) =>
    SHAPE_VERSIONS.map(({ g, v }) => ({
      ...one,
      as,
      apiVersion: `${g}/${v}`,
      required: { as: kind, g, v },
    })),
  )
}

/**
 * Metadata alone has messages, whatever the kind.
 *
 * @param whole how whole objects are written
 * @param list asked for as a list has a name of its own; a watch is of single ones
 */
function offersOf(whole: readonly Written[], list: boolean): readonly Offer[] {
  const partial = list ? 'PartialObjectMetadataList' : 'PartialObjectMetadata'
  return [...whole, ...shaped(TEXT, 'table', 'Table'), ...shaped(ENCODINGS_SERVED, 'partial', partial)]
}

const TEXT = ENCODINGS_SERVED.filter(({ encoding }) => encoding !== 'protobuf')
const OFFERS = {
  one: { all: offersOf(ENCODINGS_SERVED, false), text: offersOf(TEXT, false) },
  list: { all: offersOf(ENCODINGS_SERVED, true), text: offersOf(TEXT, true) },
}

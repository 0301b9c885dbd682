import { ApiError } from '../../api/errors/api-error.ts'
import type { Encoding } from '../../api/codec/document.ts'
import { ENCODINGS_SERVED, JSON_SERVED, negotiate } from '../../api/media-type.ts'
import { namesOf } from '../../api/metadata/names.ts'
import { hasProtobuf, STORED_FORM } from '../../registry/representations/representation.ts'
import type { Representation } from '../../registry/representations/representation.ts'
import type { ResourceDefinition, Verb } from '../../registry/kinds/definition.ts'
import { readIncludeObject } from '../../registry/calls/query-options.ts'
import type { Query } from '../../registry/calls/query-options.ts'

/** The encoding of a response, and its `Content-Type`. */
export type Wanted = { readonly encoding: Encoding; readonly contentType: string }

/** The representation of the objects of a response. */
export type WantedObjects = { readonly representation: Representation; readonly contentType: string }

/** The most frequent headers, which need no parsing. */
const PLAIN: ReadonlySet<string> = new Set(['', '*/*', 'application/json', 'application/json, */*'])
const JSON_WANTED: Wanted = { encoding: 'json', contentType: 'application/json' }

/** @throws ApiError `NotAcceptable` when the client does not accept plain JSON */
export function mustAcceptJson(header: string | undefined): void {
  if (header !== undefined && !PLAIN.has(header)) negotiate(header, JSON_SERVED)
}

/**
 * Negotiates the encoding of a document that is offered in all encodings.
 *
 * @throws ApiError `NotAcceptable`
 */
export function encodingWanted(header: string | undefined): Wanted {
  if (header === undefined || PLAIN.has(header)) return JSON_WANTED
  const { type, encoding } = negotiate(header, ENCODINGS_SERVED)
  return { encoding, contentType: type }
}

/**
 * Negotiates the encoding of an error: JSON where the client accepts nothing that is offered.
 */
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
  /** The group and version of the shape, as the client named it. */
  readonly apiVersion?: string
}

/**
 * Negotiates the representation of the objects of a response.
 *
 * @throws ApiError `NotAcceptable`; `BadRequest` for a table with invalid parameters
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
  // Reviews are not stored and have no columns. @source apiserver, AllowsMediaTypeTransform
  const served = definition.review === undefined ? offers : offers.filter(({ as }) => as !== 'table')
  const offer = negotiate(header, served)
  // As upstream: streams of JSON have the type of JSON.
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

/** The groups and versions under which clients may request tables and metadata. */
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
 * Returns the offers. Metadata is offered as protobuf for every kind, tables are not.
 *
 * @param whole encodings of whole objects
 * @param list a list has its own kind; the events of a watch are single objects
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

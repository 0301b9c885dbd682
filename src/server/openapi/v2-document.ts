import { Buffer } from 'node:buffer'
import type { Names } from '../../api/metadata/names.ts'
import type { Catalog } from '../../registry/kinds/catalog.ts'
import type { ResourceDefinition } from '../../registry/kinds/definition.ts'
import type { StaticDocument } from '../responses/static-document.ts'
import { contentHash } from '../http/content-hash.ts'
import { openApiV2 } from './v2.ts'
import type { DocumentForm } from './v2-forms.ts'

/** The contribution of some kinds to the document, in one form. */
type Fragment = {
  readonly paths: readonly Uint8Array[]
  readonly definitions: ReadonlyMap<string, Uint8Array>
  readonly hash: string
}

export type DocumentParts = {
  /** The kinds that clients see. */
  readonly catalog: Catalog
  readonly names: Names
  /** The version of the program. */
  readonly version: string
  /** Resolves after other work had its turn. */
  readonly turn: () => Promise<void>
}

/**
 * The Swagger document in one form. The contribution of each custom kind is encoded once, and kept
 * while the kind exists; after a change, the document is assembled from kept and new pieces; a few
 * new kinds are encoded per turn. The kept pieces are views on the bytes of the document, so that
 * everything is stored once.
 */
export class V2Document {
  readonly #parts: DocumentParts
  readonly #form: DocumentForm
  #builtIn: Fragment | null = null
  #custom = new Map<ResourceDefinition, Fragment>()
  #document: StaticDocument | null = null

  constructor(parts: DocumentParts, form: DocumentForm) {
    this.#parts = parts
    this.#form = form
  }

  /** Builds the document of the catalog at the time of the call. One call at a time. */
  async make(): Promise<StaticDocument> {
    const { catalog, turn } = this.#parts
    const kinds = catalog.all().filter(({ custom }) => custom !== undefined)
    const builtIn = (this.#builtIn ??= this.#fragmentOf(catalog.builtIn(), new Map()))
    const custom = new Map<ResourceDefinition, Fragment>()
    let made = 0
    for (const kind of kinds) {
      let fragment = this.#custom.get(kind)
      if (fragment === undefined) {
        if (made++ % KINDS_PER_TURN === 0) await turn()
        fragment = this.#fragmentOf([kind], builtIn.definitions)
      }
      custom.set(kind, fragment)
    }
    return this.#whole(builtIn, custom)
  }

  /** @param known definitions that the document has anyway */
  #fragmentOf(kinds: readonly ResourceDefinition[], known: ReadonlyMap<string, unknown>): Fragment {
    const { paths, definitions } = openApiV2(kinds, this.#parts.names)
    const form = this.#form
    const shapes = Object.entries(definitions).filter(([name]) => !known.has(name))
    const fragment = {
      paths: Object.entries(paths).map(([path, item]) => form.path(path, item)),
      definitions: new Map(shapes.map(([name, shape]) => [name, form.definition(name, shape)])),
    }
    return {
      ...fragment,
      hash: contentHash(Buffer.concat([...fragment.paths, ...fragment.definitions.values()])),
    }
  }

  #whole(builtIn: Fragment, custom: Map<ResourceDefinition, Fragment>): StaticDocument {
    const fragments = [builtIn, ...custom.values()]
    const { version } = this.#parts
    const hashes = [version, ...fragments.map(({ hash }) => hash)]
    const etag = `"${contentHash(Buffer.from(hashes.join(' ')))}"`
    if (this.#document?.etag === etag) {
      this.#custom = custom
      return this.#document
    }
    // If two kinds have a definition of the same name, that of the first kind is used.
    const definitions = new Map<string, Uint8Array>()
    for (const fragment of fragments) {
      for (const [name, shape] of fragment.definitions)
        if (!definitions.has(name)) definitions.set(name, shape)
    }
    const paths = fragments.flatMap((fragment) => fragment.paths)
    const pieces = this.#form.whole(version, paths, [...definitions.values()])
    const bytes = Buffer.concat(pieces)
    const moved = placesIn(bytes, pieces)
    this.#builtIn = movedTo(moved, builtIn)
    this.#custom = new Map([...custom].map(([kind, fragment]) => [kind, movedTo(moved, fragment)]))
    this.#document = { bytes, etag }
    return this.#document
  }
}

/** Returns a view on the assembled bytes for each piece. */
function placesIn(bytes: Uint8Array, pieces: readonly Uint8Array[]): ReadonlyMap<Uint8Array, Uint8Array> {
  const places = new Map<Uint8Array, Uint8Array>()
  let at = 0
  for (const piece of pieces) {
    places.set(piece, bytes.subarray(at, at + piece.byteLength))
    at += piece.byteLength
  }
  return places
}

function movedTo(
  places: ReadonlyMap<Uint8Array, Uint8Array>,
  { paths, definitions, hash }: Fragment,
): Fragment {
  const moved = (member: Uint8Array): Uint8Array => places.get(member) ?? member
  return {
    paths: paths.map(moved),
    definitions: new Map([...definitions].map(([name, shape]) => [name, moved(shape)])),
    hash,
  }
}

/** A kind takes a millisecond or two to encode. */
const KINDS_PER_TURN = 4

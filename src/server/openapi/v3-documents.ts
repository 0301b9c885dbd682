import { Buffer } from 'node:buffer'
import { jsonText } from '../../api/codec/json-text.ts'
import type { ResourceDefinition } from '../../registry/kinds/definition.ts'
import type { StaticDocument } from '../responses/static-document.ts'
import { contentHash } from '../http/content-hash.ts'
import { openApiV3, openApiV3Index, v3PathOf } from './v3.ts'
import type { DocumentParts } from './v2-document.ts'

type Kept = {
  readonly kinds: readonly ResourceDefinition[]
  /** null: not requested yet. */
  document: StaticDocument | null
}

/**
 * The OpenAPI 3.0 documents, one per group and version: built on request, and kept until their
 * kinds change.
 */
export class V3Documents {
  readonly #parts: DocumentParts
  #byPath = new Map<string, Kept>()
  /** The version of the catalog at the last update. */
  #version = -1

  constructor(parts: DocumentParts) {
    this.#parts = parts
  }

  /**
   * @param path such as `api/v1` or `apis/apps/v1`
   * @returns null without such a document
   */
  document(path: string): StaticDocument | null {
    const kept = this.#current().get(path)
    return kept === undefined ? null : this.#documentOf(kept)
  }

  /** Returns the index of documents: all of them are built for it, one per turn. */
  async index(): Promise<StaticDocument> {
    const entries: { path: string; hash: string }[] = []
    for (const [path, kept] of this.#current()) {
      if (kept.document === null) await this.#parts.turn()
      entries.push({ path, hash: this.#documentOf(kept).etag.replaceAll('"', '') })
    }
    return documentOf(Buffer.from(jsonText(openApiV3Index(entries))))
  }

  #current(): ReadonlyMap<string, Kept> {
    const { catalog } = this.#parts
    if (this.#version !== catalog.version) {
      const byPath = new Map<string, Kept>()
      for (const [path, kinds] of kindsByPath(catalog.all())) {
        const before = this.#byPath.get(path)
        byPath.set(
          path,
          before !== undefined && isSame(before.kinds, kinds) ? before : { kinds, document: null },
        )
      }
      this.#byPath = byPath
      this.#version = catalog.version
    }
    return this.#byPath
  }

  #documentOf(kept: Kept): StaticDocument {
    const { names, version } = this.#parts
    return (kept.document ??= documentOf(Buffer.from(jsonText(openApiV3(kept.kinds, names, version)))))
  }
}

function kindsByPath(
  kinds: readonly ResourceDefinition[],
): ReadonlyMap<string, readonly ResourceDefinition[]> {
  const paths = new Map<string, ResourceDefinition[]>()
  for (const kind of kinds) {
    const path = v3PathOf(kind)
    const members = paths.get(path)
    if (members === undefined) paths.set(path, [kind])
    else members.push(kind)
  }
  return paths
}

function isSame(a: readonly ResourceDefinition[], b: readonly ResourceDefinition[]): boolean {
  return a.length === b.length && a.every((kind, at) => kind === b[at])
}

function documentOf(bytes: Uint8Array): StaticDocument {
  return { bytes, etag: `"${contentHash(bytes)}"` }
}

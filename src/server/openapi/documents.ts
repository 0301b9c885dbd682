import { CatalogCache } from './catalog-cache.ts'
import type { StaticDocument } from '../responses/static-document.ts'
import { V2Document } from './v2-document.ts'
import type { DocumentParts } from './v2-document.ts'
import { jsonForm } from './v2-forms.ts'
import { V3Documents } from './v3-documents.ts'

/**
 * Returns all OpenAPI documents of a catalog, each built on first use, and cached until its content
 * has changed.
 */
export function openApiDocuments(parts: DocumentParts, isV3Served: boolean): OpenApiDocuments {
  const { catalog } = parts
  const derived = (make: () => Promise<StaticDocument>): (() => Promise<StaticDocument>) => {
    const made = new CatalogCache(() => catalog.version, make)
    return () => made.get()
  }
  const json = new V2Document(parts, jsonForm)
  let protobuf: V2Document | null = null
  const v3 = new V3Documents(parts)
  return {
    v2: derived(() => json.make()),
    v2Protobuf: derived(async () => {
      const { protobufForm } = await import('./v2-protobuf.ts')
      protobuf ??= new V2Document(parts, protobufForm)
      return protobuf.make()
    }),
    v3: isV3Served ? { index: derived(() => v3.index()), document: (path) => v3.document(path) } : null,
  }
}

/** The documents for the current kinds, each built on first use and cached. */
export type OpenApiDocuments = {
  /** `/openapi/v2` as JSON. */
  readonly v2: () => Promise<StaticDocument>
  /** The same as gnostic's protobuf message; its encoder is loaded on first use. */
  readonly v2Protobuf: () => Promise<StaticDocument>
  /** null: disabled. */
  readonly v3: {
    /** `/openapi/v3`: the index of documents. */
    readonly index: () => Promise<StaticDocument>
    /**
     * @param path such as `api/v1` or `apis/apps/v1`
     * @returns null without such a document
     */
    readonly document: (path: string) => StaticDocument | null
  } | null
}

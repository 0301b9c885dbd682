import { Buffer } from 'node:buffer'
import type { JsonObject } from '../../api/json.ts'
import type { Names } from '../../api/names.ts'
import type { ResourceDefinition } from '../../registry/definition.ts'
import type { OpenApiDocuments } from '../routes/openapi.ts'
import type { StaticDocument } from '../static-document.ts'
import { contentHash } from './content-hash.ts'
import { openApiV2 } from './v2.ts'
import { openApiV3, openApiV3Index, v3PathOf } from './v3.ts'

/** All OpenAPI documents of a set of kinds, each built when it is first asked for, and kept. */
export function openApiDocuments(
  kinds: readonly ResourceDefinition[],
  names: Names,
  { version, v3: isV3Served }: { readonly version: string; readonly v3: boolean },
): OpenApiDocuments {
  // Not kept: as objects it takes many times what its bytes do.
  const v2Json = (): JsonObject => openApiV2(kinds, names, version)
  const v3 = new Map<string, () => StaticDocument>()
  for (const [path, members] of byPath(kinds)) {
    v3.set(
      path,
      once(() => jsonDocument(openApiV3(members, names, version))),
    )
  }
  return {
    v2: once(() => jsonDocument(v2Json())),
    v2Protobuf: once(async () => {
      const { encodeOpenApiV2 } = await import('./v2-protobuf.ts')
      return document(encodeOpenApiV2(v2Json()))
    }),
    v3: isV3Served
      ? {
          index: once(() => {
            const entries = [...v3].map(([path, make]) => ({ path, hash: make().etag.replaceAll('"', '') }))
            return jsonDocument(openApiV3Index(entries))
          }),
          document: (path) => v3.get(path)?.() ?? null,
        }
      : null,
  }
}

function byPath(kinds: readonly ResourceDefinition[]): ReadonlyMap<string, readonly ResourceDefinition[]> {
  const paths = new Map<string, ResourceDefinition[]>()
  for (const kind of kinds) {
    const path = v3PathOf(kind)
    const members = paths.get(path)
    if (members === undefined) paths.set(path, [kind])
    else members.push(kind)
  }
  return paths
}

function jsonDocument(json: JsonObject): StaticDocument {
  return document(Buffer.from(JSON.stringify(json)))
}

function document(bytes: Uint8Array): StaticDocument {
  return { bytes, etag: `"${contentHash(bytes)}"` }
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null
  return () => (made ??= { value: make() }).value
}

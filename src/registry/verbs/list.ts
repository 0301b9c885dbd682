import type { JsonObject } from '../../api/json.ts'
import type { VerbResponse, VerbRequest } from '../calls/verb.ts'
import { apiVersionOf, listKindOf } from '../kinds/definition.ts'
import type { ResourceDefinition } from '../kinds/definition.ts'
import { readListOptions } from '../calls/query-options.ts'
import type { ListOptions, RegistrySwitches } from '../calls/query-options.ts'
import { readPage } from '../reading/list-page.ts'
import type { ListPage } from '../reading/list-page.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'
import { observedObjects } from '../reading/observed-objects.ts'
import { listPieces } from '../reading/pieces.ts'
import { readablePage } from '../reading/readable-page.ts'
import { protobufPieces } from '../reading/protobuf-pieces.ts'
import { STORED_FORM, formOf, isStoredForm } from '../representations/representation.ts'
import { selectionOf } from '../reading/selection.ts'
import type { Selection } from '../reading/selection.ts'
import { jsonList, jsonTable, textPieces, yamlList, yamlTable } from '../reading/text-pieces.ts'

/**
 * Lists objects. All pages of a list show one revision; if it is compacted in between, 410 has a
 * token to continue at the newest one. Members keep no state between pages. @source spec 4.8
 */
export async function list(dependencies: VerbDependencies, request: VerbRequest): Promise<VerbResponse> {
  const options = readListOptions(request.query)
  const selection = selectionOf(request.definition, request.target, options)
  const page = await pageOf(dependencies, request, options, selection)
  const shown = await readablePage(dependencies, request.context, page)
  return { kind: 'pieces', code: 200, pieces: piecesOf(dependencies, request, shown) }
}

function pageOf(
  dependencies: VerbDependencies,
  request: VerbRequest,
  options: ListOptions,
  selection: Selection,
): Promise<ListPage> {
  return request.definition.observe === undefined
    ? readPage(dependencies, request, options, selection)
    : observedPage(dependencies, request, selection)
}

/** As upstream, `limit` and `continue` do not matter: there are few objects. */
async function observedPage(
  dependencies: VerbDependencies,
  request: VerbRequest,
  selection: Selection,
): Promise<ListPage> {
  const objects = await observedObjects(dependencies, request)
  return { revision: null, batches: [objects.filter(selection.matches)], next: null }
}

function piecesOf(
  dependencies: VerbDependencies,
  request: VerbRequest,
  page: ListPage,
): Iterable<Uint8Array> | AsyncIterable<Uint8Array> {
  const { definition, representation = STORED_FORM } = request
  const { batches } = page
  const metadata = listMetadata(page, dependencies.switches)
  if (isStoredForm(representation)) {
    const form = { head: listHead(request, metadata), typedItems: hasTypedItems(definition) }
    return listPieces(form, batches, dependencies.limits.pieceBytes)
  }
  if (representation.as === 'table') {
    const of = { definition, shape: representation.shape, nowMs: () => dependencies.clock.wallMs() }
    const table = representation.encoding === 'json' ? jsonTable(of, metadata) : yamlTable(of, metadata)
    return textPieces(table, batches, dependencies)
  }
  const form = formOf(definition, representation, dependencies.schemas.of(definition))
  switch (representation.encoding) {
    case 'json':
      return textPieces(jsonList(form, metadata), batches, dependencies)
    case 'yaml':
      return textPieces(yamlList(form, metadata), batches, dependencies)
    case 'protobuf':
      return protobufPieces(form, metadata, batches, dependencies)
  }
}

function listMetadata({ revision, next }: ListPage, { remainingItemCount }: RegistrySwitches): JsonObject {
  const remaining = remainingItemCount ? (next?.remaining ?? null) : null
  return {
    ...(revision === null ? {} : { resourceVersion: String(revision) }),
    ...(next === null ? {} : { continue: next.token }),
    ...(remaining === null ? {} : { remainingItemCount: remaining }),
  }
}

/**
 * Whether each item has its own kind and apiVersion. For built-in kinds, clients derive them from
 * the kind of the list: `FooList` has items `Foo`. The definition of a custom kind may choose any
 * list kind.
 */
function hasTypedItems({ custom }: ResourceDefinition): boolean {
  return custom !== undefined
}

function listHead({ definition }: VerbRequest, metadata: JsonObject): string {
  const type = `"kind":${JSON.stringify(listKindOf(definition))},"apiVersion":${JSON.stringify(apiVersionOf(definition))}`
  return `{${type},"metadata":${JSON.stringify(metadata)},"items":[`
}

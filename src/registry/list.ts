import type { Answer, VerbRequest } from './answer.ts'
import { apiVersionOf } from './definition.ts'
import { readListOptions } from './options.ts'
import { readPage } from './page.ts'
import type { Page } from './page.ts'
import type { VerbParts } from './parts.ts'
import { listPieces } from './pieces.ts'
import { selectionOf } from './selection.ts'
import { tableHead } from './table.ts'
import { tablePieces } from './table-pieces.ts'
import type { RegistrySwitches } from './switches.ts'

/** Spec 4.8. All pages of a list show one revision; a page needs nothing kept on any member. */
export async function list(parts: VerbParts, request: VerbRequest): Promise<Answer> {
  const options = readListOptions(request.query)
  const selection = selectionOf(request.definition, request.target, options)
  const page = await readPage(parts, request, options, selection)
  const { definition, table } = request
  const metadata = listMetadata(page, parts.switches)
  if (table !== undefined) {
    const head = tableHead(definition, table, metadata)
    const pieces = tablePieces({ definition, shape: table }, head, page.batches, parts)
    return { kind: 'pieces', code: 200, pieces }
  }
  const head = listHead(request, metadata)
  return { kind: 'pieces', code: 200, pieces: listPieces(head, page.batches, parts.limits.pieceBytes) }
}

function listMetadata({ revision, next }: Page, { remainingItemCount }: RegistrySwitches): object {
  const remaining = remainingItemCount ? (next?.remaining ?? null) : null
  return {
    resourceVersion: String(revision),
    ...(next === null ? {} : { continue: next.token }),
    ...(remaining === null ? {} : { remainingItemCount: remaining }),
  }
}

function listHead({ definition }: VerbRequest, metadata: object): string {
  const type = `"kind":${JSON.stringify(`${definition.kind}List`)},"apiVersion":${JSON.stringify(apiVersionOf(definition))}`
  return `{${type},"metadata":${JSON.stringify(metadata)},"items":[`
}

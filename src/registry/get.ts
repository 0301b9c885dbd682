import { notFound } from '../api/api-errors.ts'
import type { Answer, VerbRequest } from './answer.ts'
import { wantedBy } from './consistency.ts'
import { resourceOf } from './definition.ts'
import { readGetOptions } from './options.ts'
import type { VerbParts } from './parts.ts'
import { readState } from './read-state.ts'
import { keyOfTarget } from './request.ts'
import { partOf } from './subresource.ts'

/** Answers with the stored bytes; nothing is parsed or copied. */
export async function get(parts: VerbParts, request: VerbRequest): Promise<Answer> {
  const { definition, target, context } = request
  partOf(definition, target, 'get')
  const wanted = wantedBy(request, readGetOptions(request.query))
  const key = keyOfTarget(definition, target)
  const stored = await readState(parts, context, wanted, { take: () => parts.store.view().get(key) })
  if (stored === null) throw notFound(resourceOf(definition), target.name ?? '')
  return { kind: 'document', code: 200, bytes: stored.bytes }
}

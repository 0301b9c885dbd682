import { notFound } from '../../api/errors/standard-errors.ts'
import type { VerbResponse, VerbRequest } from '../calls/verb.ts'
import { wantedBy } from '../calls/consistency.ts'
import { resourceOf } from '../kinds/definition.ts'
import { readGetOptions } from '../calls/query-options.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'
import { observedObjects } from '../reading/observed-objects.ts'
import { readState } from '../reading/read-state.ts'
import { keyOfTarget } from '../calls/request.ts'
import { partOf, viewOf } from '../calls/subresource.ts'
import { showView } from './view-subresource.ts'

/** Returns an object: its stored bytes, unless a view or another version is requested. */
export async function get(dependencies: VerbDependencies, request: VerbRequest): Promise<VerbResponse> {
  const { definition, target, context } = request
  const view = viewOf(definition, target, 'get')
  if (view === null) partOf(definition, target, 'get')
  const options = readGetOptions(request.query)
  const key = keyOfTarget(definition, target)
  const stored =
    definition.observe === undefined
      ? await readState(dependencies, context, wantedBy(request, options), {
          take: () => dependencies.store.view().get(key),
        })
      : ((await observedObjects(dependencies, request)).find((object) => object.key === key) ?? null)
  if (stored === null) throw notFound(resourceOf(definition), target.name ?? '')
  const { conversions } = dependencies.store
  const [shown = stored] =
    conversions === undefined ? [] : await conversions.readable([stored], context.deadlineMs)
  const answer: VerbResponse = { kind: 'document', code: 200, bytes: shown.bytes }
  return view === null ? answer : showView(view, answer)
}

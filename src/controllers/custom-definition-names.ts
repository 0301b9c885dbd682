import type { Clock } from '../../raft/base/clock.ts'
import { ApiError } from '../api/api-error.ts'
import { equalJson, objectMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import type { Names } from '../api/names.ts'
import { formatTime } from '../api/time.ts'
import type { Catalog } from '../registry/catalog.ts'
import type { Informer } from '../registry/informer.ts'
import type { LocalClient } from '../registry/local-client.ts'
import { Controller } from './controller.ts'
import type { Reconciled } from './controller.ts'
import { decideNames } from './custom-definition-claims.ts'
import type { NamesDecision, TakenNames } from './custom-definition-claims.ts'
import { definitionKey, definitionPlural, isTrue } from './custom-definition-summary.ts'
import type { DefinitionSummary, KnownDefinition } from './custom-definition-summary.ts'

export type DefinitionNamesParts = {
  readonly clock: Clock
  readonly names: Names
  readonly catalog: Catalog
  readonly client: LocalClient
  /** All definitions, as this member knows them. */
  readonly definitions: Informer<KnownDefinition>
  /** Of the kinds that this server has by itself, in that group. */
  readonly taken: (group: string) => TakenNames
  /** Definitions that are served at once, in all groups. When full: the next waits, and its status says so. */
  readonly establishedMax: number
  readonly onError: (group: string, cause: unknown) => void
}

/**
 * Says of every definition which of its names it has, and so from when on its kind is there: conditions `NamesAccepted` and
 * `Established`. Works on whole groups, as names are of one group, and from what is there alone, so any leader goes on.
 *
 * @source apiextensions-apiserver `pkg/controller/status` and `pkg/controller/establish`; both in one step here, as a member
 *   that has not heard of the kind yet asks before it says that there is none
 */
export function customDefinitionNames(parts: DefinitionNamesParts): Controller {
  const controller = new Controller({
    clock: parts.clock,
    reconcile: (group) => reconcile(parts, group),
    keys: () => new Set(all(parts).map(({ group }) => group)),
    onError: parts.onError,
  })
  parts.definitions.subscribe((change) => {
    if (change.kind === 'set') controller.enqueue(change.value.group)
    else for (const group of freedBy(parts, change.previous)) controller.enqueue(group)
  })
  return controller
}

function all({ definitions }: DefinitionNamesParts): readonly DefinitionSummary[] {
  return [...definitions.entries()].map(([, definition]) => definition)
}

/** One that goes frees its names for its group, and its place for any. */
function freedBy(parts: DefinitionNamesParts, gone: DefinitionSummary): ReadonlySet<string> {
  const waiting = all(parts).filter((definition) => !isTrue(definition, 'Established'))
  return new Set([gone.group, ...waiting.map(({ group }) => group)])
}

async function reconcile(parts: DefinitionNamesParts, group: string): Promise<Reconciled> {
  await parts.definitions.takeIn()
  const known = all(parts)
  const ofGroup = known.filter((definition) => definition.group === group)
  const established = known.filter((definition) => isTrue(definition, 'Established')).length
  const room = parts.establishedMax - established
  const now = formatTime(parts.clock.wallMs())
  const decisions = decideNames(ofGroup, { taken: parts.taken(group), room, now })
  let result: Reconciled = { kind: 'done' }
  for (const decision of decisions) {
    const told = await tell(parts, decision)
    if (told.kind === 'again') result = told
  }
  return result
}

/** Writes what was decided over what it was decided from. */
async function tell(parts: DefinitionNamesParts, decision: NamesDecision): Promise<Reconciled> {
  const { client, catalog, names } = parts
  const definition = catalog.find(names.group('apiextensions'), 'v1', definitionPlural)
  if (definition === null) return { kind: 'done' }
  const target = { namespace: null, name: decision.of.name, subresource: null }
  const current = await client.get(definition, target)
  if (current === null || current.metadata.uid !== decision.of.uid) return { kind: 'again' }
  const known = parts.definitions.get(definitionKey(names, decision.of.name))
  // Somebody wrote it since: what was decided may be wrong by now, and the informer will say so.
  if (known !== decision.of || current.metadata.generation !== decision.of.generation)
    return { kind: 'again' }
  const old = objectMember(current, 'status')
  if (!equalJson(old['conditions'] ?? [], decision.of.conditions)) return { kind: 'again' }
  const status: JsonObject = {
    ...old,
    acceptedNames: acceptedNames(decision),
    conditions: decision.conditions,
  }
  try {
    await client.update(definition, { ...target, subresource: 'status' }, { ...current, status })
  } catch (cause) {
    if (!(cause instanceof ApiError && (cause.code === 'Conflict' || cause.code === 'NotFound'))) throw cause
    return { kind: 'again' }
  }
  return { kind: 'done' }
}

/** What is empty is not said, but for those that always are. */
function acceptedNames({ accepted }: NamesDecision): JsonObject {
  const said = Object.entries(accepted).filter(([, name]) => name.length > 0)
  return { plural: '', kind: '', ...Object.fromEntries(said) }
}

import type { Clock } from '../../base/clock.ts'
import { objectMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import { formatTime } from '../api/metadata/time.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import { parseBytes } from '../registry/kinds/encode.ts'
import type { Informer } from '../registry/informer.ts'
import type { LocalClient } from '../registry/local-client.ts'
import type { OtherRevision } from '../store/command.ts'
import type { ObjectStore } from '../store/object-store.ts'
import { isLostRace } from './lost-race.ts'
import { Controller } from './controller.ts'
import type { Reconciled } from './controller.ts'
import { decideNames } from './custom-definition-claims.ts'
import type { NamesDecision, TakenNames } from './custom-definition-claims.ts'
import { definitionPlural, isEstablished } from './custom-definition-summary.ts'
import type { DefinitionSummary, KnownDefinition } from './custom-definition-summary.ts'
import { FencingToken } from './fencing-token.ts'

export type DefinitionNamesDependencies = {
  readonly clock: Clock
  readonly store: Pick<ObjectStore, 'view' | 'write'>
  readonly names: Names
  readonly catalog: Catalog
  readonly client: LocalClient
  /** All definitions, as this member has applied them. */
  readonly definitions: Informer<KnownDefinition>
  /** Returns the names of built-in kinds in that group. */
  readonly taken: (group: string) => TakenNames
  /**
   * Maximum number of definitions that are served, in all groups. When full: the next one waits,
   * and its status reports that.
   */
  readonly establishedMax: number
  readonly onError: (group: string, cause: unknown) => void
}

type Dependencies = DefinitionNamesDependencies & { readonly fence: FencingToken }

const fenceMsMax = 30_000

/**
 * Decides for every definition which of its names are accepted, and so whether its kind is served:
 * conditions `NamesAccepted` and `Established`. Works on whole groups, as names belong to a
 * group, and on the current state alone, so that any leader can continue.
 *
 * @source apiextensions-apiserver `pkg/controller/status` and `pkg/controller/establish`; in one
 * step here, as a member that has not applied the definition yet waits for it before a 404
 */
export function customDefinitionNames(given: DefinitionNamesDependencies): Controller {
  const dependencies: Dependencies = {
    ...given,
    fence: new FencingToken({ ...given, name: 'custom-definition-names' }),
  }
  const controller = new Controller({
    clock: dependencies.clock,
    reconcile: (group) => reconcile(dependencies, group),
    keys: () => new Set(all(dependencies).map(({ group }) => group)),
    onError: dependencies.onError,
  })
  dependencies.definitions.subscribe((change) => {
    if (change.kind === 'set') controller.enqueue(change.value.group)
    else for (const group of freedBy(dependencies, change.previous)) controller.enqueue(group)
  })
  return controller
}

function all({ definitions }: DefinitionNamesDependencies): readonly KnownDefinition[] {
  return [...definitions.entries()].map(([, definition]) => definition)
}

/**
 * Returns the groups to decide again: a deleted definition frees its names for its group, and its
 * slot for any group.
 */
function freedBy(dependencies: DefinitionNamesDependencies, gone: DefinitionSummary): ReadonlySet<string> {
  const waiting = all(dependencies).filter((definition) => !isEstablished(definition))
  return new Set([gone.group, ...waiting.map(({ group }) => group)])
}

/**
 * Accepted names must not be given to another definition, so a decision must be based on all
 * earlier decisions, including those of another leader, whose writes this member may not have
 * applied yet. A precondition on the version of the changed definition is not enough: two decisions
 * about one name change two definitions, one of which the other leader may not know. Hence the
 * fencing token: its holder knows all earlier decisions, and later writes of earlier holders are
 * rejected. No other component writes accepted names, so no other precondition is needed. The
 * token is taken only where there is something to write.
 */
async function reconcile(dependencies: Dependencies, group: string): Promise<Reconciled> {
  // A definition that cannot be decrypted may have the names.
  if (dependencies.definitions.lacksObjectsIn(null)) return { kind: 'again' }
  if ((await decided(dependencies, group)).length === 0) return { kind: 'done' }
  const held = await dependencies.fence.take(fenceMsMax)
  for (const decision of await decided(dependencies, group)) {
    // A later decision may assign a name that this one was to free.
    if (!(await writeStatus(dependencies, decision, held))) return { kind: 'again' }
  }
  return { kind: 'done' }
}

/** Decides from all that this member has applied. */
async function decided(
  dependencies: DefinitionNamesDependencies,
  group: string,
): Promise<readonly NamesDecision<KnownDefinition>[]> {
  await dependencies.definitions.takeIn()
  const known = all(dependencies)
  const ofGroup = known.filter((definition) => definition.group === group)
  const established = known.filter((definition) => isEstablished(definition)).length
  const vacancies = dependencies.establishedMax - established
  const now = formatTime(dependencies.clock.wallMs())
  return decideNames(ofGroup, { taken: dependencies.taken(group), vacancies, now })
}

/**
 * Writes a decision, with a precondition on what it was based on.
 * @returns false: the definition has changed, or another leader has taken the fencing token
 */
async function writeStatus(
  { client, catalog, names, fence }: Dependencies,
  decision: NamesDecision<KnownDefinition>,
  held: OtherRevision,
): Promise<boolean> {
  const definition = catalog.find(names.group('apiextensions'), 'v1', definitionPlural)
  if (definition === null) return true
  const target = { namespace: null, name: decision.of.name, subresource: 'status' }
  const object = parseBytes(decision.of.bytes)
  const status: JsonObject = {
    ...objectMember(object, 'status'),
    acceptedNames: acceptedNames(decision),
    conditions: decision.conditions,
  }
  try {
    await client.update(definition, target, { ...object, status }, held)
    return true
  } catch (cause) {
    if (isLostRace(cause)) return false
    fence.forget()
    throw cause
  }
}

/** Returns the accepted names without empty ones, except for those that are always present. */
function acceptedNames({ accepted }: NamesDecision): JsonObject {
  const stated = Object.entries(accepted).filter(([, name]) => name.length > 0)
  return { plural: '', kind: '', ...Object.fromEntries(stated) }
}

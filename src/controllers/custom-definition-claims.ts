import { setCondition } from '../api/metadata/conditions.ts'
import type { Condition } from '../api/metadata/conditions.ts'
import { textMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import { listKindOf } from '../registry/kinds/definition.ts'
import type { ResourceDefinition } from '../registry/kinds/definition.ts'
import { isEstablished } from './custom-definition-summary.ts'
import type { DefinitionNames, DefinitionSummary } from './custom-definition-summary.ts'

/** The names in use in one group. Resources and kinds are separate name spaces. */
export type TakenNames = {
  /** Plurals, singulars and short names. */
  readonly resources: ReadonlySet<string>
  /** Kinds of objects and of lists. */
  readonly kinds: ReadonlySet<string>
}

/** Returns the names that kinds of a group use. */
export function takenNames(kinds: readonly ResourceDefinition[], of: string): TakenNames {
  const ofGroup = kinds.filter(({ group }) => group === of)
  return {
    resources: new Set(
      ofGroup.flatMap(({ plural, singular, shortNames }) => [plural, singular, ...shortNames]),
    ),
    kinds: new Set(ofGroup.flatMap((kind) => [kind.kind, listKindOf(kind)])),
  }
}

/** The changes to the status of a definition. */
export type NamesDecision<T extends DefinitionSummary = DefinitionSummary> = {
  readonly of: T
  readonly accepted: DefinitionNames
  readonly conditions: readonly JsonObject[]
}

/**
 * Decides which definitions of a group get which of the names they request. A definition keeps a
 * name until it gets another one in its place, or is gone; a free name goes to the oldest
 * definition that requests it, and of two created in one second to the first by name. Short names
 * are accepted all together or not at all. So the decision follows from the objects alone.
 *
 * @param taken by built-in kinds
 * @param vacancies how many more definitions may be established
 * @param now RFC 3339
 * @returns only changes; each builds on the earlier ones
 * @source apiextensions-apiserver `pkg/controller/status/naming_controller.go`: reasons and
 * messages
 */
export function decideNames<T extends DefinitionSummary>(
  definitions: readonly T[],
  { taken, vacancies, now }: { readonly taken: TakenNames; readonly vacancies: number; readonly now: string },
): readonly NamesDecision<T>[] {
  const claims = new Claims(taken)
  let left = vacancies
  for (const definition of definitions) claims.add(definition.accepted)
  const inOrder = [...definitions].sort(
    (a, b) => compare(a.createdAt, b.createdAt) || compare(a.name, b.name),
  )
  const decisions: NamesDecision<T>[] = []
  for (const definition of inOrder) {
    // A definition does not conflict with its own names.
    claims.remove(definition.accepted)
    const { accepted, conflict } = accept(definition, claims)
    claims.add(accepted)
    const conditions = conditionsOf(definition, { conflict, hasVacancy: left > 0 }, now)
    if (!isEstablished(definition) && isEstablished({ conditions })) left--
    if (!isSame(definition, accepted, conditions)) decisions.push({ of: definition, accepted, conditions })
  }
  return decisions
}

/** Maximum number of short names listed in a condition. More: only their number. */
const refusedListedMax = 10

type Conflict = { readonly reason: string; readonly message: string }

/** Returns the names that are free; in place of the others the accepted ones stay. */
function accept(
  { requested, accepted }: DefinitionSummary,
  claims: Claims,
): { readonly accepted: DefinitionNames; readonly conflict: Conflict | null } {
  let conflict: Conflict | null = null
  const one = (reason: string, wanted: string, had: string, used: (name: string) => boolean): string => {
    if (wanted === had || !used(wanted)) return wanted
    conflict = { reason, message: inUse(wanted) }
    return had
  }
  const isResource = (name: string): boolean => claims.hasResource(name)
  const isKind = (name: string): boolean => claims.hasKind(name)
  const plural = one('PluralConflict', requested.plural, accepted.plural, isResource)
  const singular = one('SingularConflict', requested.singular, accepted.singular, isResource)
  let { shortNames } = requested
  const own = new Set(accepted.shortNames)
  const refused = shortNames.filter((name) => !own.has(name) && isResource(name))
  if (refused.length > 0) {
    const reported = refused.slice(0, refusedListedMax).map(inUse)
    const words =
      refused.length > reported.length
        ? [...reported, `${refused.length - reported.length} others`]
        : reported
    conflict = {
      reason: 'ShortNamesConflict',
      message: words.length === 1 ? words.join() : `[${words.join(', ')}]`,
    }
    shortNames = accepted.shortNames
  }
  const kind = one('KindConflict', requested.kind, accepted.kind, isKind)
  const listKind = one('ListKindConflict', requested.listKind, accepted.listKind, isKind)
  const { categories } = requested
  return { accepted: { plural, singular, shortNames, kind, listKind, categories }, conflict }
}

function inUse(name: string): string {
  return `${JSON.stringify(name)} is already in use`
}

/** Once established, a definition stays established: objects may exist. */
function conditionsOf(
  definition: DefinitionSummary,
  { conflict, hasVacancy }: { readonly conflict: Conflict | null; readonly hasVacancy: boolean },
  now: string,
): readonly JsonObject[] {
  const named: ConditionContent =
    conflict === null
      ? { status: 'True', reason: 'NoConflicts', message: 'no conflicts found' }
      : { status: 'False', ...conflict }
  const conditions = setCondition(definition.conditions, { type: 'NamesAccepted', ...named }, now)
  if (isEstablished(definition)) return conditions
  const established = conflict !== null ? notAccepted : hasVacancy ? initialNames : tooMany
  return setCondition(conditions, { type: 'Established', ...established }, now)
}

type ConditionContent = Omit<Condition, 'type'>

const notAccepted: ConditionContent = {
  status: 'False',
  reason: 'NotAccepted',
  message: 'not all names are accepted',
}
const initialNames: ConditionContent = {
  status: 'True',
  reason: 'InitialNamesAccepted',
  message: 'the initial names have been accepted',
}
const tooMany: ConditionContent = {
  status: 'False',
  reason: 'TooManyDefinitions',
  message: 'the cluster serves the maximum number of definitions: delete others first',
}

function isSame(
  definition: DefinitionSummary,
  accepted: DefinitionNames,
  conditions: readonly JsonObject[],
): boolean {
  const reported = (of: readonly JsonObject[]): string =>
    JSON.stringify(
      of.map((one) => ['type', 'status', 'reason', 'message'].map((name) => textMember(one, name))),
    )
  return (
    JSON.stringify(accepted) === JSON.stringify(definition.accepted) &&
    reported(conditions) === reported(definition.conditions)
  )
}

/** Counts the uses of each name: one definition may use a name twice. */
class Claims {
  readonly #taken: TakenNames
  readonly #resources = new Map<string, number>()
  readonly #kinds = new Map<string, number>()

  constructor(taken: TakenNames) {
    this.#taken = taken
  }

  hasResource(name: string): boolean {
    return this.#taken.resources.has(name) || this.#resources.has(name)
  }

  hasKind(name: string): boolean {
    return this.#taken.kinds.has(name) || this.#kinds.has(name)
  }

  add(names: DefinitionNames): void {
    this.#count(names, 1)
  }

  remove(names: DefinitionNames): void {
    this.#count(names, -1)
  }

  #count({ plural, singular, shortNames, kind, listKind }: DefinitionNames, by: 1 | -1): void {
    for (const name of [plural, singular, ...shortNames]) count(this.#resources, name, by)
    for (const name of [kind, listKind]) count(this.#kinds, name, by)
  }
}

function count(names: Map<string, number>, name: string, by: 1 | -1): void {
  if (name === '') return
  const now = (names.get(name) ?? 0) + by
  if (now === 0) names.delete(name)
  else names.set(name, now)
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

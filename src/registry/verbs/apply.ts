import { applyConfig, appliedEntry } from '../../api/apply/apply.ts'
import type { Application, Applied } from '../../api/apply/apply.ts'
import { applyConflict } from '../../api/apply/conflict-error.ts'
import { isEmptySet } from '../../api/apply/field-set.ts'
import { identityOf, managedFieldsOf, storedManagers } from '../../api/apply/managers.ts'
import type { ManagedEntry, Managers } from '../../api/apply/managers.ts'
import { mergeTypeOf } from '../../api/apply/merge-type.ts'
import type { KindVersions } from '../../api/apply/kind-versions.ts'
import { firstOwner } from '../../api/apply/first-owner.ts'
import { TooManyPathsError } from '../../api/apply/path-budget.ts'
import { reconcileOwners } from '../../api/apply/ownership.ts'
import type { Writer } from '../../api/apply/ownership.ts'
import { withoutAllowed, updatedLastApplied } from '../../api/apply/client-side-apply.ts'
import { ApiError } from '../../api/errors/api-error.ts'
import type { JsonObject } from '../../api/json.ts'
import type { ObjectSchema } from '../../api/schema/schema.ts'
import type { VerbResponse, WriteRequest } from '../calls/verb.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'
import { readApplyOptions } from '../calls/query-options.ts'
import type { ApplyOptions } from '../calls/query-options.ts'
import { partOf } from '../calls/subresource.ts'
import { apiVersionOf } from '../kinds/definition.ts'
import type { AnyObject, PartSubresource, ViewSubresource } from '../kinds/definition.ts'
import { conformed, reshapeObject, withValueLimit } from '../writing/decode.ts'
import { readConfig } from '../writing/read-config.ts'
import { checkOwnedPaths, giveManagedFields, withManagedFields, writerOf } from '../writing/manage-fields.ts'
import { draftRewrite, requireVersion, rewriteRetry } from '../writing/rewrite.ts'
import { validateBody } from '../writing/validate-write.ts'
import { awaitedBy } from '../writing/awaited-conversions.ts'
import { versionsOfKind } from '../writing/versions-of-kind.ts'
import { runWrite } from '../writing/write-pipeline.ts'
import type { Draft } from '../writing/write-pipeline.ts'
import { checkCreatable, draftCreate, Stamps } from './create.ts'
import type { ReadSet } from '../shared/read-set.ts'

/**
 * Server-side apply: sets the fields that the body has, creates a missing object, and removes what
 * the same manager applied before and no longer applies.
 *
 * @param view such as `scale`: the applier owns the members of the object that the view shows
 * @throws ApiError `Conflict` with a cause per field that another manager owns, unless forced
 * @source spec 4.10
 */
export function apply(
  dependencies: VerbDependencies,
  request: WriteRequest,
  view: ViewSubresource | null,
): Promise<VerbResponse> {
  const { definition, target } = request
  const subresource = view === null ? partOf(definition, target, 'patch') : null
  const options = {
    kind: 'PatchOptions',
    ...readApplyOptions(request.query, dependencies.names.domain),
  } as const
  const writer = writerOf(request, options.fieldManager)
  const stamps = new Stamps(dependencies, request)
  return runWrite(dependencies, request, {
    options,
    decode: () => {
      const read = (sent: AnyObject): Sent => {
        const config = view === null ? sent : configOfView(view, request, sent)
        return { config, application: applicationOf(dependencies, request, { config, writer, subresource }) }
      }
      const config = withValueLimit(dependencies, request, (valuesMax) =>
        readConfig(dependencies, request, {
          kind: view?.body ?? definition,
          validation: options.fieldValidation,
          valuesMax,
        }),
      )
      return config instanceof Promise ? config.then(read) : read(config)
    },
    draft: ({ config, application }, reads) => {
      const change = (current: AnyObject): AnyObject =>
        changed(dependencies, request, { application, writer, current, options, subresource, view })
      const onMissing = (): Draft =>
        draftMissing(dependencies, request, { config, application, stamps, options }, reads)
      const applier = identityOf(application.entry)
      const rewrite = { subresource, options, applier, change: requireVersion(request, change) }
      return draftRewrite(dependencies, request, view === null ? { ...rewrite, onMissing } : rewrite, reads)
    },
    retry: rewriteRetry(dependencies, request, options),
  })
}

/** Returns the applied object that has the members of the view. @throws ApiError `Invalid` */
function configOfView(
  { body, view }: ViewSubresource,
  { definition }: WriteRequest,
  sent: AnyObject,
): AnyObject {
  const { name = '', namespace, uid, resourceVersion } = sent.metadata
  validateBody(body, name, sent)
  const metadata = {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  }
  return view.applied(sent, { apiVersion: apiVersionOf(definition), kind: definition.kind, metadata })
}

type Sent = {
  /** With status, which some kinds keep when they are created. */
  readonly config: AnyObject
  readonly application: Application
}

type Reading = {
  readonly config: AnyObject
  readonly writer: Writer
  readonly subresource: PartSubresource | null
}

/** @throws ApiError the body has too many paths; checked before any of them is merged */
function applicationOf(
  dependencies: VerbDependencies,
  request: WriteRequest,
  { config: sent, writer, subresource }: Reading,
): Application {
  const { definition } = request
  const type = mergeTypeOf(dependencies.schemas.of(definition))
  const config = settable(request, subresource, sent)
  const entry = appliedEntry(type, config, writer)
  checkOwnedPaths(dependencies, [entry])
  return {
    type,
    config,
    entry,
    versions: versionsOfKind(dependencies, definition, awaitedBy(request)),
    conform: (object) => conformed(dependencies, definition, object).value,
  }
}

/**
 * Returns the object without the members that a write of this path does not set: they belong to
 * other managers.
 */
function settable<Object extends JsonObject>(
  { definition }: WriteRequest,
  subresource: PartSubresource | null,
  object: Object,
): Object {
  const hasStatus = definition.subresources.some(({ name }) => name === 'status')
  const isSet = (name: string): boolean => {
    if (subresource === null) return name !== 'status' || !hasStatus
    return subresource.name !== 'status' || name === 'status' || COMMON_MEMBERS.has(name)
  }
  return Object.fromEntries(Object.entries(object).filter(([name]) => isSet(name))) as Object
}

const COMMON_MEMBERS: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata'])

type Changing = {
  readonly application: Application
  readonly writer: Writer
  readonly current: AnyObject
  readonly options: ApplyOptions
  readonly subresource: PartSubresource | null
  readonly view: ViewSubresource | null
}

/** Returns the applied object with its owners. @throws ApiError */
function changed(
  dependencies: VerbDependencies,
  request: WriteRequest,
  { application, writer, current, options, subresource, view }: Changing,
): AnyObject {
  const { definition } = request
  const { type, versions, config } = application
  const live = withManagedFields(current, undefined)
  // The members of the object were not written through the view.
  const owner = view === null ? writer : { ...writer, subresource: '' }
  const managers =
    ownersOf(versions, current) ??
    // An apply of no fields cannot conflict, and gives the object no owners.
    (isEmptySet(application.entry.fields)
      ? new Map<string, ManagedEntry>()
      : firstOwners(dependencies.schemas.of(definition), settable(request, subresource, live), owner))
  checkOwnedPaths(dependencies, managers.values())
  const applied = boundedApply(application, live, managers)
  checkOwnedPaths(dependencies, applied.managers.values())
  const mergeWriteOnly = definition.hooks?.mergeWriteOnly ?? ((sent: JsonObject) => sent)
  if (!options.force && applied.conflicts.size > 0) {
    const left =
      writer.manager === 'kubectl'
        ? withoutAllowed(type, live, applied.conflicts, mergeWriteOnly)
        : applied.conflicts
    if (left.size > 0) throw applyConflict(left)
  }
  const whole = reshapeObject(dependencies, definition, applied.object as AnyObject)
  const object = writer.manager === 'kubectl' && view === null ? updatedLastApplied(whole, config) : whole
  return withManagedFields(object, managedFieldsOf(applied.managers))
}

/** @throws ApiError `RequestEntityTooLarge` */
function boundedApply(application: Application, live: JsonObject, managers: Managers): Applied {
  try {
    return applyConfig(application, live, managers)
  } catch (cause) {
    if (!(cause instanceof TooManyPathsError)) throw cause
    throw new ApiError(
      'RequestEntityTooLarge',
      'the object has too many fields for managers of its many versions: write it with PUT, ' +
        'after a merge patch that sets metadata.managedFields to [{}]',
      {},
      { cause },
    )
  }
}

/** @returns null: the object has no owners */
function ownersOf(versions: KindVersions, { metadata }: AnyObject): Managers | null {
  const managers = storedManagers(metadata.managedFields ?? [])
  return managers.size === 0 ? null : reconcileOwners(versions, managers)
}

/** The first apply of an object without owners makes one manager the owner of all its fields. */
function firstOwners(schema: ObjectSchema, live: JsonObject, writer: Writer): Managers {
  const first = firstOwner(schema, live, writer)
  return new Map([[identityOf(first), first]])
}

type Missing = Sent & {
  readonly stamps: Stamps
  readonly options: ApplyOptions
}

function draftMissing(
  dependencies: VerbDependencies,
  request: WriteRequest,
  { config, application, stamps, options }: Missing,
  reads: ReadSet,
): Draft {
  const { definition } = request
  checkCreatable(request, config)
  const object = conformed(dependencies, definition, config).value as AnyObject
  const sent = reshapeObject(dependencies, definition, object)
  const draft = draftCreate(dependencies, request, { sent, stamps, options, isApply: true }, reads)
  const { type, entry } = application
  const applier = identityOf(entry)
  const entries = managedFieldsOf(new Map([[applier, entry]]))
  const manage = giveManagedFields({ type, entries, applier, current: null })
  return { ...draft, createsByUpdate: true, manage }
}

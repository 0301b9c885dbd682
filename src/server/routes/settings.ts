import { createHash } from 'node:crypto'
import { ApiError } from '../../api/errors/api-error.ts'
import { badRequest } from '../../api/errors/standard-errors.ts'
import { isJsonObject } from '../../api/json.ts'
import { settingNames, settingsBounds, settingText } from '../../config/settings-bounds.ts'
import type { SettingName } from '../../config/settings-bounds.ts'
import { fromRead, fromStore } from '../../registry/shared/store-error-mapping.ts'
import { staleAccessMsDefault } from '../../store/command.ts'
import type { Settings } from '../../store/command.ts'
import type { ObjectStore } from '../../store/object-store.ts'
import { callOf } from '../calls/fastify-types.ts'
import type { App, Request } from '../calls/fastify-types.ts'
import { jsonBytes, sendJson } from '../responses/json-reply.ts'
import type { ServerLog } from '../calls/server-log.ts'
import { needsLevel, storageRulesLevel } from '../../store/machine/feature-level.ts'

/** The part of the store that settings use. */
export type SettingsStore = Pick<ObjectStore, 'settings' | 'featureLevel' | 'storage' | 'barrier' | 'write'>

/** The number of resources listed, largest first. */
const resourcesReported = 10
/** Maximum number of attempts of a change without a version, if there are concurrent changes. */
const attemptsMax = 5

/**
 * Serves the replicated settings, for users that are authorized for the path: cluster
 * administrators, unless an operator grants it to others. A change names only the settings to
 * change, and is applied to the settings that it was evaluated on or not at all. A change with a
 * version fails with 409 if the settings have another one.
 */
export function settingsRoutes(
  app: App,
  { store, log }: { readonly store: SettingsStore; readonly log: ServerLog },
): void {
  const url = '/cluster/v1/settings'
  app.route({
    method: ['GET', 'HEAD'],
    url,
    handler: async (request, reply) => {
      await fromRead(store.barrier(callOf(request).deadlineMs))
      sendJson(request, reply, jsonBytes(settingsBody(store)))
    },
  })
  app.route({
    method: 'POST',
    url,
    handler: async (request, reply) => {
      const { deadlineMs, user } = callOf(request)
      const wanted = wantedChange(request)
      await change(store, wanted, deadlineMs)
      log.info({ user: user.name, change: wanted.settings }, 'settings changed')
      sendJson(request, reply, jsonBytes(settingsBody(store)))
    },
  })
}

/** @throws ApiError `Conflict`, `BadRequest`, and those of the store */
async function change(store: SettingsStore, wanted: Wanted, deadlineMs: number): Promise<void> {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    // Settings that are not named keep their values, so these must be known.
    await fromStore(store.barrier(deadlineMs))
    const current = store.settings
    if (wanted.version !== null && wanted.version !== versionOf(current)) break
    const hasQuota = current.storageBytesMax !== null
    if (!hasQuota) checkLevel(store, wanted)
    const settings = { ...current, ...wanted.settings }
    // Programs of feature level 1 do not support the condition.
    const condition = hasQuota ? { expected: current } : {}
    const command = { kind: 'change-settings', settings, ...condition } as const
    const outcome = await fromStore(store.write(command, deadlineMs))
    if (outcome.kind === 'done') return
  }
  throw new ApiError('Conflict', 'settings not changed: there was a concurrent change, read them again')
}

/** @throws ApiError `BadRequest` for settings that the feature level does not support yet */
function checkLevel({ featureLevel }: SettingsStore, { settings }: Wanted): void {
  const early = (['storageBytesMax', 'leaseReads', 'staleAccessMs'] as const).find(
    (name) => settings[name] !== undefined,
  )
  if (early === undefined) return
  throw badRequest(needsLevel(early, storageRulesLevel, featureLevel))
}

function settingsBody({ settings, featureLevel, storage }: SettingsStore): object {
  const { usedBytes, alarm } = storage
  return {
    settings: { leaseReads: 0, staleAccessMs: staleAccessMsDefault, ...settings },
    version: versionOf(settings),
    featureLevel,
    storage: {
      ...{ usedBytes, alarm },
      resources: storage.largest(resourcesReported),
      places: storage.largestPlaces(),
    },
  }
}

/** Equal settings have equal versions on every member, so no counter is needed. */
function versionOf(settings: Settings): string {
  const { historyWindowMs, historyEventsMin, objectBytesMax, storageBytesMax } = settings
  const { leaseReads = 0, staleAccessMs } = settings
  const text = JSON.stringify([
    historyWindowMs,
    historyEventsMin,
    objectBytesMax,
    storageBytesMax,
    leaseReads,
    ...(staleAccessMs === undefined ? [] : [staleAccessMs]),
  ])
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

type Wanted = {
  /** The version that the caller read; null: any. */
  readonly version: string | null
  readonly settings: { readonly [Name in SettingName]?: number }
}

/** @throws ApiError `BadRequest` in one line with the remedy */
function wantedChange({ body }: Request): Wanted {
  let parsed: unknown
  try {
    parsed = Buffer.isBuffer(body) ? JSON.parse(body.toString('utf8')) : null
  } catch (cause) {
    throw badRequest('the body is not JSON', { cause })
  }
  const names = settingNames.join(', ')
  const { version = null, ...values } = isJsonObject(parsed) ? parsed : {}
  if (version !== null && typeof version !== 'string')
    throw badRequest('version must be the text that was read with the settings')
  if (Object.keys(values).length === 0) throw badRequest(`the body must be an object of settings: ${names}`)
  const settings: { -readonly [Name in SettingName]?: number } = {}
  for (const [name, value] of Object.entries(values)) {
    if (!isSetting(name)) throw badRequest(`there is no setting ${name}: there are ${names}`)
    const { min, max } = settingsBounds[name]
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < min || value > max) {
      const range = `${settingText(name, min)} to ${settingText(name, max)}`
      throw badRequest(`${name} must be a whole number from ${min} to ${max} (${range})`)
    }
    settings[name] = value
  }
  return { version, settings }
}

function isSetting(name: string): name is SettingName {
  return Object.hasOwn(settingsBounds, name)
}

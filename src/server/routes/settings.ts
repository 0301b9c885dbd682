import { createHash } from 'node:crypto'
import { ApiError } from '../../api/errors/api-error.ts'
import { badRequest } from '../../api/errors/standard-errors.ts'
import { isJsonObject } from '../../api/json.ts'
import { settingNames, settingsBounds, settingText } from '../../config/settings-bounds.ts'
import type { SettingName } from '../../config/settings-bounds.ts'
import { fromRead, fromStore } from '../../registry/shared/store-error-mapping.ts'
import type { Settings } from '../../store/command.ts'
import type { ObjectStore } from '../../store/object-store.ts'
import { callOf } from '../fastify-types.ts'
import type { App, Request } from '../fastify-types.ts'
import { jsonBytes, sendJson } from '../json-reply.ts'
import type { ServerLog } from '../server-log.ts'

/** The part of the store that settings are about. */
export type SettingsStore = Pick<ObjectStore, 'settings' | 'featureLevel' | 'storage' | 'barrier' | 'write'>

/** Of the resources that take most, so many are told. */
const resourcesTold = 10
/** A change that names no version meets others so often at most. */
const attemptsMax = 5

/**
 * The replicated settings, read and changed by whoever may use the path: cluster administrators, unless an operator
 * grants it to others. A change names only what shall be different, and is made to the settings that it was evaluated
 * on or not at all. One that names the version it read, 409 when there is another by now.
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
      sendJson(request, reply, jsonBytes(told(store)))
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
      sendJson(request, reply, jsonBytes(told(store)))
    },
  })
}

/** @throws ApiError `Conflict`, `BadRequest` */
async function change(store: SettingsStore, wanted: Wanted, deadlineMs: number): Promise<void> {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    // What is not named stays as it is, so that must be known.
    await fromStore(store.barrier(deadlineMs))
    const current = store.settings
    if (wanted.version !== null && wanted.version !== versionOf(current)) break
    const hasQuota = current.storageBytesMax !== null
    if (!hasQuota) checkLevel(store, wanted)
    const settings = { ...current, ...wanted.settings }
    // Programs of feature level 1 do not know the condition.
    const condition = hasQuota ? { expected: current } : {}
    const command = { kind: 'change-settings', settings, ...condition } as const
    const outcome = await fromStore(store.write(command, deadlineMs))
    if (outcome.kind === 'done') return
  }
  throw new ApiError(
    'Conflict',
    'the settings were changed by somebody else meanwhile, nothing was changed: read them again',
  )
}

/** @throws ApiError `BadRequest` for what there are no rules for yet */
function checkLevel({ featureLevel }: SettingsStore, { settings }: Wanted): void {
  const early = (['storageBytesMax', 'leaseReads'] as const).find((name) => settings[name] !== undefined)
  if (early === undefined) return
  throw badRequest(
    `${early} begins with feature level 2, the cluster is at ${featureLevel}: ` +
      'the level rises once every member runs a program that knows it, none held back by --feature-level-max',
  )
}

function told({ settings, featureLevel, storage }: SettingsStore): object {
  const { usedBytes, alarm } = storage
  return {
    settings: { leaseReads: 0, ...settings },
    version: versionOf(settings),
    featureLevel,
    storage: {
      ...{ usedBytes, alarm },
      resources: storage.largest(resourcesTold),
      places: storage.largestPlaces(),
    },
  }
}

/** Equal settings have equal versions, on every member: nothing needs to be counted for them. */
function versionOf(settings: Settings): string {
  const { historyWindowMs, historyEventsMin, objectBytesMax, storageBytesMax, leaseReads = 0 } = settings
  const text = JSON.stringify([
    historyWindowMs,
    historyEventsMin,
    objectBytesMax,
    storageBytesMax,
    leaseReads,
  ])
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

type Wanted = {
  /** What the caller read; null: whatever there is. */
  readonly version: string | null
  readonly settings: { readonly [Name in SettingName]?: number }
}

/** @throws ApiError `BadRequest` in one line that says what would be right */
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

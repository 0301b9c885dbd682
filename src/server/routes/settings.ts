import { badRequest, timeout } from '../../api/api-errors.ts'
import { isJsonObject } from '../../api/json.ts'
import { settingsBounds } from '../../config/settings-bounds.ts'
import { fromStore } from '../../registry/store-errors.ts'
import type { Settings } from '../../store/command.ts'
import type { ObjectStore } from '../../store/object-store.ts'
import type { ServerLog } from '../parts.ts'
import { callOf } from '../fastify-types.ts'
import type { App, Request } from '../fastify-types.ts'
import { jsonBytes, sendJson } from './json.ts'

/** The part of the store that settings are about. */
export type SettingsStore = Pick<ObjectStore, 'settings' | 'featureLevel' | 'storage' | 'barrier' | 'write'>

/** Of the resources that take most, so many are told. */
const resourcesTold = 10

/**
 * The replicated settings, read and changed by whoever may use the path: cluster administrators, unless an operator
 * grants it to others. A change names only what shall be different; of two at once the later one counts.
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
      await fromStore(store.barrier(callOf(request).deadlineMs))
      sendJson(request, reply, jsonBytes(told(store)))
    },
  })
  app.route({
    method: 'POST',
    url,
    handler: async (request, reply) => {
      const { deadlineMs, user } = callOf(request)
      const change = wantedChange(request)
      // What is not named stays as it is, so that must be known.
      await fromStore(store.barrier(deadlineMs))
      if (change.storageBytesMax !== undefined && store.settings.storageBytesMax === null) {
        throw badRequest(
          `the storage quota begins with feature level 2, the cluster is at ${store.featureLevel}: ` +
            'the level rises once every member runs a program that knows it, none held back by --feature-level-max',
        )
      }
      const settings = { ...store.settings, ...change }
      const outcome = await fromStore(store.write({ kind: 'change-settings', settings }, deadlineMs))
      if (outcome.kind !== 'done') throw timeout('the settings were not changed')
      log.info({ user: user.name, change }, 'settings changed')
      sendJson(request, reply, jsonBytes(told(store)))
    },
  })
}

function told({ settings, featureLevel, storage }: SettingsStore): object {
  const { usedBytes, alarm } = storage
  return {
    settings,
    featureLevel,
    storage: { usedBytes, alarm, resources: storage.largest(resourcesTold) },
  }
}

type Change = { -readonly [Name in keyof Settings]?: number }

/** @throws ApiError `BadRequest` in one line that says what would be right */
function wantedChange({ body }: Request): Change {
  let parsed: unknown
  try {
    parsed = Buffer.isBuffer(body) ? JSON.parse(body.toString('utf8')) : null
  } catch (cause) {
    throw badRequest('the body is not JSON', { cause })
  }
  const names = Object.keys(settingsBounds)
  if (!isJsonObject(parsed) || Object.keys(parsed).length === 0)
    throw badRequest(`the body must be an object of settings: ${names.join(', ')}`)
  const change: Change = {}
  for (const [name, value] of Object.entries(parsed)) {
    if (!isSetting(name)) throw badRequest(`there is no setting ${name}: there are ${names.join(', ')}`)
    const { min, max } = settingsBounds[name]
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < min || value > max)
      throw badRequest(`${name} must be a whole number from ${min} to ${max}`)
    change[name] = value
  }
  return change
}

function isSetting(name: string): name is keyof typeof settingsBounds {
  return Object.hasOwn(settingsBounds, name)
}

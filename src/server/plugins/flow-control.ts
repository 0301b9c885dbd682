import { tooManyRequests } from '../../api/api-errors.ts'
import { callOf } from '../fastify-types.ts'
import type { App } from '../fastify-types.ts'
import type { ServerLimits } from '../parts.ts'

/** How many calls of each kind are being answered. */
export class Room {
  reading = 0
  writing = 0
  watching = 0
}

/**
 * Turns requests away while too many are being answered: better a quick 429 for some than a slow answer for
 * all. Watches wait most of their life, so they are counted apart.
 */
export function flowControl(app: App, room: Room, limits: ServerLimits): void {
  const giveBack = {
    reading: () => void room.reading--,
    writing: () => void room.writing--,
    watching: () => void room.watching--,
  } satisfies Record<Kind, () => void>
  app.addHook('onRequest', (request, _reply, done) => {
    const call = callOf(request)
    const kind = kindOf(request.method, call.info.action.verb)
    if (room[kind] >= limits[PLACES[kind]]) {
      done(tooManyRequests(RETRY_AFTER_SECONDS))
      return
    }
    room[kind]++
    call.release = giveBack[kind]
    done()
  })
}

type Kind = 'reading' | 'writing' | 'watching'

const RETRY_AFTER_SECONDS = 1

const PLACES = {
  reading: 'requestsReadingMax',
  writing: 'requestsWritingMax',
  watching: 'watchesMax',
} as const satisfies Record<Kind, keyof ServerLimits>

function kindOf(method: string, verb: string): Kind {
  if (verb === 'watch') return 'watching'
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS' ? 'reading' : 'writing'
}

import type { SnapshotSource } from '../../../raft/index.ts'
import { tooManyRequests } from '../../api/errors/standard-errors.ts'
import { limits } from '../../config/limits.ts'
import { fromRead } from '../../registry/shared/store-error-mapping.ts'
import { answerPieces } from '../responses/answer-stream.ts'
import { callOf } from '../calls/fastify-types.ts'
import type { App } from '../calls/fastify-types.ts'
import type { ErrorParts } from '../responses/error-reply.ts'
import type { SnapshotProvider } from './snapshot-provider.ts'

const retryAfterSeconds = 5

/**
 * Serves a consistent copy of everything, secrets included, for users that are authorized for the
 * path: cluster administrators. Its last bytes show that it is complete; an aborted stream lacks
 * them. Each stream keeps old database files in use, hence the limit.
 */
export function snapshotRoute(app: App, parts: ErrorParts & { readonly states: SnapshotProvider }): void {
  let open = 0
  app.route({
    method: 'GET',
    url: '/cluster/v1/snapshot',
    handler: async (request, reply) => {
      const call = callOf(request)
      if (open >= limits.snapshotsMax) throw tooManyRequests(retryAfterSeconds)
      open++
      try {
        const { clusterName, source } = await fromRead(parts.states.open(call.deadlineMs))
        const { index, term } = source.snapshot
        parts.log.info({ user: call.user.name, index, term }, 'sending a snapshot')
        // A member that shuts down does not wait for the end of the stream.
        call.endStream = () => void call.reply.destroy()
        if (call.isRevoked) call.reply.destroy()
        const headers = {
          'content-type': 'application/octet-stream',
          'orch-cluster-name': encodeURIComponent(clusterName),
        }
        const pieces = piecesOf(source, () => open--)
        answerPieces(pieces, call, request, reply, parts, { headers })
      } catch (cause) {
        open--
        throw cause
      }
    },
  })
}

async function* piecesOf(source: SnapshotSource, closed: () => void): AsyncGenerator<Uint8Array, void> {
  try {
    for (let piece = await source.next(); piece !== null; piece = await source.next()) yield piece
  } finally {
    closed()
    await source.close()
  }
}

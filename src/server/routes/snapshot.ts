import type { SnapshotSource } from '../../../raft/index.ts'
import { tooManyRequests } from '../../api/errors/standard-errors.ts'
import { limits } from '../../config/limits.ts'
import { fromRead } from '../../registry/shared/store-error-mapping.ts'
import { answerPieces } from '../answer-stream.ts'
import { callOf } from '../fastify-types.ts'
import type { App } from '../fastify-types.ts'
import type { ErrorParts } from '../error-reply.ts'
import type { SnapshotProvider } from '../snapshot-provider.ts'

const retryAfterSeconds = 5

/**
 * A consistent copy of everything, secrets included, for whoever may use the path: cluster administrators. Its end tells
 * that it is whole; a stream that is cut off has none. Each holds the database's old files, hence the bound.
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
        parts.log.info({ user: call.user.name, index, term }, 'a snapshot is sent')
        // A member that stops does not wait for it: half a snapshot is none.
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

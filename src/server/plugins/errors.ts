import type { App } from '../fastify-types.ts'
import type { ErrorParts } from '../error-reply.ts'
import { answerError, noRoute } from '../error-reply.ts'

/** Whatever a hook, a parser or a verb throws leaves as a `Status`; an unknown error's text does not. */
export function errors(app: App, parts: ErrorParts): void {
  app.setErrorHandler((error, request, reply) => answerError(error, request, reply, parts))
  // All methods of ours have a route: what is left is of some other protocol on top of HTTP, or of none.
  app.setNotFoundHandler((request, reply) => answerError(noRoute(request, parts), request, reply, parts))
}

import type { App } from '../calls/fastify-types.ts'
import type { ErrorParts } from '../responses/error-reply.ts'
import { answerError, noRoute } from '../responses/error-reply.ts'

/**
 * Converts every error of a hook, a parser or a verb to a `Status`; the text of an unknown error is
 * not sent.
 */
export function errors(app: App, parts: ErrorParts): void {
  app.setErrorHandler((error, request, reply) => answerError(error, request, reply, parts))
  // `/*` has a route for every method of HTTP: only other methods (those of WebDAV, unknown ones)
  // come here.
  app.setNotFoundHandler((request, reply) => answerError(noRoute(request, parts), request, reply, parts))
}

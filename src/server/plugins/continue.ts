import { tooLarge } from '../../api/api-errors.ts'
import type { App } from '../fastify-types.ts'

/**
 * Answers `Expect: 100-continue` once the caller may write and the length it announced is acceptable: until then
 * nothing of the body travels. @source RFC 9110 section 10.1.1
 */
export function continues(app: App, requestBytesMax: number): void {
  app.addHook('preParsing', (request, reply, payload, done) => {
    const { headers } = request.raw
    if (headers.expect !== undefined && headers.expect.toLowerCase() === '100-continue') {
      if (Number(headers['content-length'] ?? 0) > requestBytesMax) {
        done(tooLarge(`limit is ${requestBytesMax}`))
        return
      }
      if ('stream' in reply.raw) reply.raw.writeContinue()
      else reply.raw.writeContinue()
    }
    done(null, payload)
  })
}

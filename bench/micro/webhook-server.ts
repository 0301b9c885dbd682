/*
 * A webhook server in a process of its own, for `webhooks.ts` and `conversion.ts`: allows
 * everything, and converts objects by changing their `apiVersion`, after a delay. Prints its port
 * and its authority as one line of JSON, and exits at the end of its standard input.
 *
 *   node dist/bench/micro/webhook-server.js DELAY_MS
 */
import { createServer } from 'node:https'
import { TestAuthority } from '../../fixtures/server-fixture.ts'

type Review = {
  readonly apiVersion: string
  readonly kind: string
  readonly request: {
    readonly uid: string
    /** In a ConversionReview. */
    readonly desiredAPIVersion?: string
    readonly objects?: readonly object[]
  }
}

const delayMs = Number(process.argv[2])
const authority = new TestAuthority('hooks')
const server = createServer(authority.server(), (request, reply) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const { apiVersion, kind, request: asked } = JSON.parse(Buffer.concat(chunks).toString()) as Review
    const { uid, desiredAPIVersion, objects = [] } = asked
    const response =
      desiredAPIVersion === undefined
        ? { uid, allowed: true }
        : {
            ...{ uid, result: { status: 'Success' } },
            convertedObjects: objects.map((one) => ({ ...one, apiVersion: desiredAPIVersion })),
          }
    const body = JSON.stringify({ apiVersion, kind, response })
    setTimeout(() => reply.end(body), delayMs)
  })
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  const port = address === null || typeof address === 'string' ? 0 : address.port
  console.log(JSON.stringify({ port, authority: authority.pem }))
})
process.stdin.resume().on('end', () => process.exit(0))

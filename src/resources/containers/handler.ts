import type { Findings } from '../../api/errors/findings.ts'
import { invalid, required } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { memberOf, numberMember, textsMember } from '../../api/json.ts'
import { checkHttpHeaderName } from '../../api/metadata/name-rules.ts'
import { int32, intOrString, listOf, maybe, struct, text, texts } from '../../api/schema/build.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt } from '../../api/schema/path.ts'
import { exactlyOne } from '../common/one-of.ts'
import { checkPort, checkPortNumber } from './port.ts'

/** Actions on a container: for probes and lifecycle hooks. */

const execActionSchema = struct(
  'core.v1.ExecAction',
  'Runs a command in the container.',
  { command: texts(1, 'Command and arguments, without a shell; exit code 0 means success.') },
  { check: checkCommand },
)

const httpHeaderSchema = struct('core.v1.HTTPHeader', 'An HTTP header.', {
  name: text(1, 'Name of the header.', { required: true, rule: checkHttpHeaderName }),
  value: text(2, 'Value of the header.', { required: true, always: true }),
})

const httpGetActionSchema = struct(
  'core.v1.HTTPGetAction',
  'Sends an HTTP GET request to the container.',
  {
    path: text(1, 'Path of the request.', { default: '/' }),
    port: intOrString(2, 'Port number, or name of a port of the container.', {
      required: true,
      always: true,
    }),
    host: text(3, 'Host of the request; the address of the Pod when unset.'),
    scheme: text(4, 'HTTP or HTTPS.', { enum: ['HTTP', 'HTTPS'], default: 'HTTP' }),
    httpHeaders: listOf(5, httpHeaderSchema, 'Headers of the request; names may repeat.'),
  },
  { check: (action, at, found) => checkPort(memberOf(action, 'port'), fieldAt(at, 'port'), found) },
)

const tcpSocketActionSchema = struct(
  'core.v1.TCPSocketAction',
  'Opens a TCP connection to the container.',
  {
    port: intOrString(1, 'Port number, or name of a port of the container.', {
      required: true,
      always: true,
    }),
    host: text(2, 'Host of the connection; the address of the Pod when unset.'),
  },
  { check: (action, at, found) => checkPort(memberOf(action, 'port'), fieldAt(at, 'port'), found) },
)

const grpcActionSchema = struct(
  'core.v1.GRPCAction',
  'Calls the gRPC health service of the container.',
  {
    port: int32(1, 'Number of the port.', { required: true, always: true }),
    service: text(2, 'Name of the service to check.', { optional: true, default: '' }),
  },
  { check: checkGrpc },
)

const exec = maybe(1, execActionSchema, 'Runs a command in the container.')
const httpGet = maybe(2, httpGetActionSchema, 'Sends an HTTP GET request.')
const tcpSocket = maybe(3, tcpSocketActionSchema, 'Opens a TCP connection.')

export const probeHandlerSchema = struct(
  'core.v1.ProbeHandler',
  'Action of a probe; exactly one member is set.',
  {
    exec,
    httpGet,
    tcpSocket,
    grpc: maybe(4, grpcActionSchema, 'Calls the gRPC health service.'),
  },
  {
    check: (handler, at, found) =>
      exactlyOne(handler, at, ['exec', 'httpGet', 'tcpSocket', 'grpc'], 'handler', found),
  },
)

export const lifecycleHandlerSchema = struct(
  'core.v1.LifecycleHandler',
  'Action of a lifecycle hook; exactly one member is set.',
  { exec, httpGet, tcpSocket },
  {
    check: (handler, at, found) =>
      exactlyOne(handler, at, ['exec', 'httpGet', 'tcpSocket'], 'handler', found),
  },
)

export const lifecycleSchema = struct('core.v1.Lifecycle', 'Lifecycle hooks of a container.', {
  postStart: maybe(
    1,
    lifecycleHandlerSchema,
    'Hook that runs after the container is created; the container is stopped if it fails.',
  ),
  preStop: maybe(
    2,
    lifecycleHandlerSchema,
    'Hook that runs before the container is stopped, within the grace period.',
  ),
})

function checkCommand(action: JsonObject, at: Path | null, found: Findings): void {
  if (textsMember(action, 'command').length === 0) found.add(required(fieldAt(at, 'command')))
}

function checkGrpc(action: JsonObject, at: Path | null, found: Findings): void {
  const port = numberMember(action, 'port')
  if (port === null) return
  for (const words of checkPortNumber(port)) found.add(invalid(fieldAt(at, 'port'), port, words))
}

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

/** What is done to a container from outside: to find out how it is, or at a moment of its life. */

const execActionSchema = struct(
  'core.v1.ExecAction',
  'Runs a program in the container.',
  { command: texts(1, 'The program and its arguments; no shell is involved. It succeeds with exit code 0.') },
  { check: checkCommand },
)

const httpHeaderSchema = struct('core.v1.HTTPHeader', 'A header of a request.', {
  name: text(1, 'Name of the header.', { required: true, rule: checkHttpHeaderName }),
  value: text(2, 'Value of the header.', { required: true, always: true }),
})

const httpGetActionSchema = struct(
  'core.v1.HTTPGetAction',
  'Asks the container by HTTP.',
  {
    path: text(1, 'Path of the request.', { default: '/' }),
    port: intOrString(2, 'Number of the port, or its name in the container.', {
      required: true,
      always: true,
    }),
    host: text(3, 'Host to ask; unset is the address of the Pod.'),
    scheme: text(4, 'HTTP or HTTPS.', { enum: ['HTTP', 'HTTPS'], default: 'HTTP' }),
    httpHeaders: listOf(5, httpHeaderSchema, 'Headers of the request; a name may stand there twice.'),
  },
  { check: (action, at, found) => checkPort(memberOf(action, 'port'), fieldAt(at, 'port'), found) },
)

const tcpSocketActionSchema = struct(
  'core.v1.TCPSocketAction',
  'Opens a connection to the container.',
  {
    port: intOrString(1, 'Number of the port, or its name in the container.', {
      required: true,
      always: true,
    }),
    host: text(2, 'Host to connect to; unset is the address of the Pod.'),
  },
  { check: (action, at, found) => checkPort(memberOf(action, 'port'), fieldAt(at, 'port'), found) },
)

const grpcActionSchema = struct(
  'core.v1.GRPCAction',
  'Asks the container by the health protocol of gRPC.',
  {
    port: int32(1, 'Number of the port.', { required: true, always: true }),
    service: text(2, 'Name of the service to ask for.', { optional: true, default: '' }),
  },
  { check: checkGrpc },
)

const exec = maybe(1, execActionSchema, 'Runs a program in the container.')
const httpGet = maybe(2, httpGetActionSchema, 'Asks the container by HTTP.')
const tcpSocket = maybe(3, tcpSocketActionSchema, 'Opens a connection to the container.')

export const probeHandlerSchema = struct(
  'core.v1.ProbeHandler',
  'How to find out how a container is; one member is set.',
  {
    exec,
    httpGet,
    tcpSocket,
    grpc: maybe(4, grpcActionSchema, 'Asks the container by the health protocol of gRPC.'),
  },
  {
    check: (handler, at, found) =>
      exactlyOne(handler, at, ['exec', 'httpGet', 'tcpSocket', 'grpc'], 'handler', found),
  },
)

export const lifecycleHandlerSchema = struct(
  'core.v1.LifecycleHandler',
  'What to do at a moment in the life of a container; one member is set.',
  { exec, httpGet, tcpSocket },
  {
    check: (handler, at, found) =>
      exactlyOne(handler, at, ['exec', 'httpGet', 'tcpSocket'], 'handler', found),
  },
)

export const lifecycleSchema = struct(
  'core.v1.Lifecycle',
  'What to do when a container begins and before it ends.',
  {
    postStart: maybe(
      1,
      lifecycleHandlerSchema,
      'Right after it began; when this fails, the container is ended.',
    ),
    preStop: maybe(2, lifecycleHandlerSchema, 'Before it is ended; the time for that goes on meanwhile.'),
  },
)

function checkCommand(action: JsonObject, at: Path | null, found: Findings): void {
  if (textsMember(action, 'command').length === 0) found.add(required(fieldAt(at, 'command')))
}

function checkGrpc(action: JsonObject, at: Path | null, found: Findings): void {
  const port = numberMember(action, 'port')
  if (port === null) return
  for (const words of checkPortNumber(port)) found.add(invalid(fieldAt(at, 'port'), port, words))
}

/** Queues of dead letters of a router, with owners that take every dead letter; and the capture of shards that hand over to them. */
import type { TaskCapture } from '../../../src/actors/history/hand-over/task-capture.ts';
import type { Router } from '../../../src/actors/asks/router.ts';
import type { Letter } from '../../../src/deadletters/letter.ts';
import { QueueCore } from '../../../src/deadletters/queue-core.ts';
import { taskCategories, type TaskCategory } from '../../../src/history/run/task-types.ts';
import { encodeTaskInfo } from '../../../src/codec/task-info-codec.ts';

const numbers: { readonly [category in TaskCategory]: number } = { transfer: 1, timer: 2, visibility: 3, archival: 4, outbound: 5 };

export class LetterQueues {
  /** By category: the letters with their ids, each once. */
  readonly letters: { readonly [category in TaskCategory]: Map<number, Letter> } = {
    transfer: new Map(),
    timer: new Map(),
    visibility: new Map(),
    archival: new Map(),
    outbound: new Map(),
  };
  isOpen = true;
  readonly capture: TaskCapture;

  constructor(router: Router, failuresMax: number, now: () => number) {
    for (const category of taskCategories) {
      const owner = new QueueCore();
      const sink = router.deadLetters.sink(numbers[category]);
      router.deadLetters.attach(numbers[category], {
        submit: (askId, command) => {
          const handled = owner.handle(command, now(), askId);
          owner.accept(handled);
          if (handled.kind === 'wait' || handled.reply === undefined) throw new Error(`no reply to ${command.kind}`);
          const { reply } = handled;
          if (command.kind === 'acceptLetters' && reply.kind === 'accepted')
            for (const [nth, letter] of command.letters.entries()) this.letters[category].set(reply.ids[nth] ?? -1, letter);
          queueMicrotask(() => sink.answer(askId, reply));
          return undefined;
        },
        cancel: () => {},
      });
    }
    this.capture = {
      queueNumberOf: (category) => (this.isOpen ? numbers[category] : undefined),
      clusterName: () => 'active',
      settingsOf: () => ({
        enabled: true,
        internalErrorsArePermanent: false,
        errorPattern: undefined,
        failuresMax,
        transferFailuresMax: undefined,
        timerFailuresMax: undefined,
        replicationFailuresMax: failuresMax,
      }),
      encodeTask: encodeTaskInfo,
      node: 'host:7233',
      build: '0.1.0',
      group: 'test-history',
    };
  }
}

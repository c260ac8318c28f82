import { civilOf } from '../kernel/cron/civil-time.ts';

/** The time of an action as it stands in its workflow's id: whole seconds, `2026-11-24T02:30:00Z`. */
export function actionTimeText(nominalTimeMs: number): string {
  const { year, month, day, hour, minute, second } = civilOf(Math.floor(nominalTimeMs / 1000) * 1000);
  const [yyyy, ...others] = [year, month, day, hour, minute, second].map((number, at) => String(number).padStart(at === 0 ? 4 : 2, '0'));
  const [mm, dd, hh, min, ss] = others;
  return `${yyyy}-${mm}-${dd}T${hh}:${min}:${ss}Z`;
}
